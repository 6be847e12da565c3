"""The texts that an answer may have, as bytes: expressions that engines/answers/grammar/ makes of a
schema, and what may follow each byte (Brzozowski's derivatives, 1964)."""

import sys
from collections.abc import Iterable
from typing import Any

from .errors import KitError

# Written grammars are up to 2,500 expressions deep, each some calls (`expressions.ts`).
sys.setrecursionlimit(max(sys.getrecursionlimit(), 50_000))

# Steps of work for a token, a part of a second, and for all, at most.
MOST_WORK = 300_000
MOST_IN_ALL = 3_000_000
# Bytes of a token. Longer ones, such as those of a hundred spaces, are left out: a shorter one can
# always begin.
LONGEST = 64
# Stands for what is being found.
OPEN = -1


class Expression:
    """A set of texts. Equal ones of a grammar are one object."""

    __slots__ = ("clamped", "id", "kind", "known", "nullable", "operands", "starts")

    def __init__(self, number: int, kind: str, operands: tuple[Any, ...], nullable: bool) -> None:
        self.id = number
        self.kind = kind
        self.operands = operands
        # Whether the empty text is in it.
        self.nullable = nullable
        # Derivatives that are known, by their byte.
        self.known: dict[int, Expression] = {}
        # A bit for each byte that a text in it may begin with, once it is known.
        self.starts: int | None = None
        # Its clamped one, once it is known.
        self.clamped: Expression | None = None


class Grammar:
    """
    :param written: as WrittenGrammar of engines/answers/grammar/writtenGrammar.ts
    :raises KitError: in any method, for a grammar that takes too much work or memory
    """

    def __init__(self, written: dict[str, Any]) -> None:
        self.all: dict[tuple[Any, ...], Expression] = {}
        self.work = self.work_in_all = 0
        self.none = self._one("none", (), False)
        self.empty = self._one("empty", (), True)
        self.read: list[Expression] = []
        for kind, *operands in written["expressions"]:
            # It was bounded where it was made.
            self.work = 0
            self.read.append(self._read(kind, operands))
        self.root = self.read[written["root"]]

    def begin(self) -> None:
        """Begins a part of the work, which is bounded."""
        self.work = 0

    def next(self, of: Expression, byte: int) -> Expression:
        """What may follow a byte."""
        found = of.known.get(byte)
        if found is None:
            found = of.known[byte] = self._derive(of, byte)
        return found

    def starts(self, of: Expression) -> int:
        """The bytes that may come first, a bit for each."""
        if of.starts == OPEN:
            raise KitError(
                "REQUEST_INVALID",
                "The schema refers to itself with nothing between, so no answer ends. Remove the "
                "$ref, or write it in a property or an item.",
            )
        if of.starts is None:
            of.starts = OPEN
            of.starts = self._starts(of)
        return of.starts

    def clamp(self, of: Expression) -> Expression:
        """The same as far as a token tells: `LONGEST` bytes."""
        if of.clamped is None:
            of.clamped = self._clamp(of)
        return of.clamped

    def pair(self, first: Expression, rest: Expression) -> Expression:
        if first is self.none or rest is self.none:
            return self.none
        if first is self.empty:
            return rest
        if rest is self.empty:
            return first
        if first.kind == "pair":
            head, tail = first.operands
            return self.pair(head, self.pair(tail, rest))
        return self._one("pair", (first, rest), first.nullable and rest.nullable)

    def either(self, choices: Iterable[Expression]) -> Expression:
        flat: dict[int, Expression] = {}
        for choice in choices:
            for one in choice.operands if choice.kind == "either" else (choice,):
                flat[one.id] = one
        flat.pop(self.none.id, None)
        self._spend(len(flat))
        if len(flat) < 2:
            return next(iter(flat.values()), self.none)
        found = tuple(flat[number] for number in sorted(flat))
        return self._one("either", found, any(one.nullable for one in found))

    def repeat(
        self, of: Expression, least: int, most: int | None, double: Expression
    ) -> Expression:
        """
        :param most: None for any number
        :param double: what may come in place of one, and counts as two towards `most`
        """
        if most is not None and most < least:
            return self.none
        if most == 0 or of is self.empty:
            return self.empty
        if of is self.none:
            return self.none if least > 0 else self.empty
        least = 0 if of.nullable else least
        if least == 1 and most == 1:
            return of
        return self._one("repeat", (of, least, most, double), least == 0)

    def text(self, content: bytes) -> Expression:
        return self._one("text", (content,), False) if content else self.empty

    def _read(self, kind: str, operands: list[Any]) -> Expression:
        read = self.read
        if kind == "bytes":
            return self._one("bytes", (sum(bits(*pair) for pair in operands),), False)
        if kind == "text":
            return self.text(operands[0].encode("latin-1"))
        if kind == "pair":
            return self.pair(read[operands[0]], read[operands[1]])
        if kind == "either":
            return self.either(read[place] for place in operands)
        if kind == "repeat":
            one, least, most, double = operands
            return self.repeat(read[one], least, most, read[double])
        if kind == "rule":
            return self._one("rule", (operands[0],), False)
        return self.empty if kind == "empty" else self.none

    def _derive(self, of: Expression, byte: int) -> Expression:
        self._spend(1)
        kind, operands = of.kind, of.operands
        if not self.starts(of) >> byte & 1:
            return self.none
        if kind == "bytes":
            return self.empty
        if kind == "text":
            return self.text(operands[0][1:])
        if kind == "pair":
            first, rest = operands
            after = self.pair(self.next(first, byte), rest)
            return self.either((after, self.next(rest, byte))) if first.nullable else after
        if kind == "either":
            return self.either([self.next(one, byte) for one in operands])
        if kind == "repeat":
            return self._derive_repeat(operands, byte)
        return self.next(self.read[operands[0]], byte)

    def _derive_repeat(self, operands: tuple[Any, ...], byte: int) -> Expression:
        of, least, most, double = operands
        needed = max(0, least - 1)

        def after(one: Expression, count: int) -> Expression:
            left = None if most is None else most - count
            return self.pair(self.next(one, byte), self.repeat(of, needed, left, double))

        if double is self.none or (most is not None and most < 2):
            return after(of, 1)
        return self.either((after(of, 1), after(double, 2)))

    def _starts(self, of: Expression) -> int:
        kind, operands = of.kind, of.operands
        if kind == "bytes":
            return int(operands[0])
        if kind == "text":
            return 1 << operands[0][0]
        if kind == "pair":
            first, rest = operands
            return self.starts(first) | (self.starts(rest) if first.nullable else 0)
        if kind == "either":
            found = 0
            for one in operands:
                found |= self.starts(one)
            return found
        if kind == "repeat":
            of_double = self.starts(operands[3]) if operands[2] is None or operands[2] > 1 else 0
            return self.starts(operands[0]) | of_double
        return self.starts(self.read[operands[0]]) if kind == "rule" else 0

    def _clamp(self, of: Expression) -> Expression:
        kind, operands = of.kind, of.operands
        if kind == "pair":
            return self.pair(self.clamp(operands[0]), self.clamp(operands[1]))
        if kind == "either":
            return self.either([self.clamp(one) for one in operands])
        if kind == "repeat":
            # Each time takes a byte or more.
            one, least, most, double = operands
            left = None if most is None else min(most, 2 * LONGEST + 2)
            needed = min(least, LONGEST + 1)
            return self.repeat(self.clamp(one), needed, left, self.clamp(double))
        return of

    def _one(self, kind: str, operands: tuple[Any, ...], nullable: bool) -> Expression:
        key = (kind, *(one.id if isinstance(one, Expression) else (one,) for one in operands))
        found = self.all.get(key)
        if found is None:
            self._spend(1)
            found = self.all[key] = Expression(len(self.all), kind, operands, nullable)
        return found

    def _spend(self, steps: int) -> None:
        self.work += steps
        self.work_in_all += steps
        if self.work > MOST_WORK or self.work_in_all > MOST_IN_ALL:
            raise too_much()


def too_much() -> KitError:
    return KitError(
        "REQUEST_INVALID",
        "The schema allows so many answers in so many ways that it takes too long to follow. Use "
        "fewer or simpler patterns and repetitions.",
    )


def bits(first: int, last: int) -> int:
    """Of the bytes from one to another."""
    return (1 << last + 1) - (1 << first)
