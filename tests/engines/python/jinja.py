"""Prints what transformers makes of chat templates, which come as JSON: null where one fails.

jinja.py <values as JSON>
"""

import json
import sys

from transformers.utils.chat_template_utils import _compile_jinja_template


def rendered(source: str) -> str | None:
    try:
        # Some filters change a list.
        return str(_compile_jinja_template(source).render(**json.loads(sys.argv[1])))
    except Exception:  # noqa: BLE001
        return None


print(json.dumps([rendered(source) for source in json.load(sys.stdin)]))
