"""What Kit's TypeScript must have alike, and reads from the same file."""

import json
import os
from typing import Any

FOLDER = os.path.dirname(__file__)
# A job takes the file to a cluster beside this module; in Kit it lies in engines/.
PATHS = [os.path.join(FOLDER, *above, "constants.json") for above in ([], [".."] * 3)]

with open(next(filter(os.path.exists, PATHS)), encoding="utf-8") as file:
    CONSTANTS: dict[str, Any] = json.load(file)
