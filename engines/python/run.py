"""Starts the engine by its path: run.py train | check | config | answer.

Any Python 3 can parse this file, so an old one fails with a message.
Its own folder is first on sys.path, so a project's datasets.py shadows no package.
"""

import json
import sys

NEEDED = (3, 10)

if sys.version_info < NEEDED:
    found = ".".join(str(part) for part in sys.version_info[:2])
    failure = {
        "kit": 1,
        "seq": 1,
        "type": "failed",
        "code": "PYTHON_UNFIT",
        "message": f"Python {found} at {sys.executable} is too old: Kit needs 3.10 or newer. "
        "Set another with python({ path }) or KIT_PYTHON.",
    }
    print(json.dumps(failure))
else:
    from kit_engine.main import run

    run(sys.argv[1])
