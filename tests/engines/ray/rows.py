"""Prints the rows of files, or why there are none: rows.py <the Python engine's folder> <file> …"""

import json
import sys
from dataclasses import astuple
from typing import Any

sys.path.insert(0, sys.argv[1])

from kit_engine.errors import KitError
from kit_engine.rows import read_rows


def rows_of(file: str) -> Any:
    try:
        return [astuple(row) for row in read_rows([file])]
    except KitError as error:
        return [error.code, str(error)]


print(json.dumps([rows_of(file) for file in sys.argv[2:]]))
