"""Constants shared with TypeScript."""

import json
import os
from typing import Any

FOLDER = os.path.dirname(__file__)
# On a cluster, the file lies beside this module; in Kit, in engines/.
PATHS = [os.path.join(FOLDER, *above, "constants.json") for above in ([], [".."] * 3)]

with open(next(filter(os.path.exists, PATHS)), encoding="utf-8") as file:
    CONSTANTS: dict[str, Any] = json.load(file)
