"""Prints the rows of files, or why there are none: rows.py <the Python engine's folder> <file> …"""

import json
import sys
from typing import Any

sys.path.insert(0, sys.argv[1])

from kit_engine.errors import KitError
from kit_engine.ignored_keys import IgnoredKeys
from kit_engine.rows import read_rows


def rows_of(file: str) -> Any:
    try:
        ignored = IgnoredKeys()
        rows = [
            (row.keys, row.conversation and row.conversation.messages, row.text)
            for row in read_rows([file], ignored)
        ]
        note = ignored.note("the dataset")
        return rows if note is None else [*rows, note]
    except KitError as error:
        return [error.code, str(error)]


print(json.dumps([rows_of(file) for file in sys.argv[2:]]))
