"""Kit's own grammar engine, which runs in QuickJS."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from ..process.environment import assert_versions, installed
from ..process.errors import KitError

QUICKJS = {"quickjs-ng": "0.17"}
# engines/python/grammar.ts, which the build bundles.
CODE = os.path.join(os.path.dirname(__file__), "grammar.js")
# Expressions are up to 2,500 deep, more than the main thread's stack holds.
STACK_BYTES = 64 * 2**20
# Reserved for the interpreter's own calls.
RESERVED_BYTES = 2**20


class Grammar:
    """Compiles a constraint, and steps through its states.

    :param spec: JSON of a ConstraintSpec of engines/answers/constraintSpec.ts
    :param count: expressions that Node compiles it to; 0 skips the comparison
    :raises KitError: in any method, for a grammar that takes too much work or memory
    """

    def __init__(self, spec: str, count: int, drops_space: bool) -> None:
        assert_versions(*installed(QUICKJS), QUICKJS, ", which constrained answers need")
        self.context = thread().submit(new_context).result()
        self.root: int = self._call("root", spec, count, drops_space)

    def begin(self) -> None:
        """Starts a bounded unit of work."""
        self._call("begin")

    def has_budget(self) -> bool:
        """Whether the budget suffices for another answer."""
        return bool(self._call("hasBudget"))

    def is_accepting(self, state: int) -> bool:
        """Whether an answer may end in a state."""
        return bool(self._call("isAccepting", state))

    def is_done(self, state: int) -> bool:
        """Whether an answer must end in a state."""
        return bool(self._call("isDone", state))

    def clamp(self, state: int, count: int) -> int:
        """An equivalent state for the next `count` bytes."""
        return int(self._call("clamp", state, count))

    def transitions(self, state: int) -> list[int]:
        """The state after each byte; 0 if it isn't allowed."""
        return list(self._call("transitions", state))

    def _call(self, name: str, *arguments: Any) -> Any:
        call = self.context.get("call")
        found = json.loads(thread().submit(call, name, json.dumps(arguments)).result())
        if "code" in found:
            raise KitError(found["code"], found["message"], found.get("fault"))
        return found.get("value")


@cache
def thread() -> ThreadPoolExecutor:
    """The only thread that runs QuickJS; its stack is larger."""
    default = threading.stack_size(STACK_BYTES)
    try:
        pool = ThreadPoolExecutor(1)
        pool.submit(int).result()
        return pool
    finally:
        threading.stack_size(default)


def new_context() -> Any:
    import quickjs

    context = quickjs.Context()
    context.set_max_stack_size(STACK_BYTES - RESERVED_BYTES)
    with open(CODE, encoding="utf-8") as file:
        context.eval(file.read())
    return context
