"""Prints the rows of files, or why there are none.

rows.py <the Python engine's folder> <rows, pairs or judged> <file> …
"""

import json
import sys
from typing import Any

sys.path.insert(0, sys.argv[1])

from kit_engine.errors import KitError
from kit_engine.ignored_keys import IgnoredKeys
from kit_engine.judged import Judged, read_judged
from kit_engine.pairs import Pair, read_pairs
from kit_engine.rows import Row, read_rows

READ = {"rows": read_rows, "pairs": read_pairs, "judged": read_judged}[sys.argv[2]]


def shown(row: Row | Pair | Judged) -> Any:
    if isinstance(row, Row):
        return row.keys, row.conversation and row.conversation.messages, row.text
    return {key: value for key, value in vars(row).items() if key != "where"}


def rows_of(file: str) -> Any:
    try:
        ignored = IgnoredKeys()
        rows = [shown(row) for row in READ([file], ignored)]
        note = ignored.note("the dataset")
        return rows if note is None else [*rows, note]
    except KitError as error:
        return [error.code, str(error)]


print(json.dumps([rows_of(file) for file in sys.argv[3:]]))
