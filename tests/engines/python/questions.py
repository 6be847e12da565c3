"""Prints what TRL makes of pairs whose answers have their question: questions.py, rows on stdin."""

import json
import sys

from trl.data_utils import maybe_extract_prompt

KEYS = ("prompt", "chosen", "rejected")
rows = json.load(sys.stdin)
print(json.dumps([{key: maybe_extract_prompt(row).get(key) for key in KEYS} for row in rows]))
