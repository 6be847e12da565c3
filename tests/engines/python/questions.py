"""Prints what TRL makes of pairs whose answers have their question, and what the engine here makes.

questions.py <the Python engine's folder>, with the rows as JSON on stdin
"""

import json
import sys

sys.path.insert(0, sys.argv[1])

from kit_engine.pairs import pair_of
from kit_engine.row_object import object_of
from trl.data_utils import maybe_extract_prompt

KEYS = ("prompt", "chosen", "rejected")
rows = json.load(sys.stdin)
here = [pair_of(object_of(row))[0] for row in rows]
print(
    json.dumps(
        {
            "trl": [{key: maybe_extract_prompt(row).get(key) for key in KEYS} for row in rows],
            "here": [{key: getattr(pair, key) for key in KEYS} for pair in here],
        }
    )
)
