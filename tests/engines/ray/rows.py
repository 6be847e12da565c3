"""Prints the rows of files, or why there are none.

rows.py <the Python engine's folder> <the forms of rows, as JSON> <file> …
"""

import json
import sys
from typing import Any

sys.path.insert(0, sys.argv[1])

from kit_engine.data.rows import read_rows
from kit_engine.process.errors import KitError

FORMS = json.loads(sys.argv[2])


def rows_of(file: str) -> Any:
    try:
        rows = [vars(row) for row in read_rows([file], FORMS)]
        return [{key: row[key] for key in row if key != "where"} for row in rows]
    except KitError as error:
        return [error.code, str(error)]


print(json.dumps([rows_of(file) for file in sys.argv[3:]]))
