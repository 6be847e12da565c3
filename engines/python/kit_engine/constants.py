"""What Kit's TypeScript must have alike, and reads from the same file."""

import json
import os
from typing import Any

with open(os.path.join(os.path.dirname(__file__), "constants.json"), encoding="utf-8") as file:
    CONSTANTS: dict[str, Any] = json.load(file)
