"""The texts that an answer may have, as bytes: expressions that engines/answers/grammar/ makes of a
schema, and what may follow each byte (Brzozowski's derivatives, 1964)."""

import sys
from collections.abc import Iterable
from heapq import heappop, heappush
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
BYTES = 256
EVERY_BYTE = (1 << BYTES) - 1
COMMA, POINT, ZERO = b",.0"
DIGITS = 0x3FF << ZERO
# Stands for what is being found.
OPEN = -1


class Expression:
    """A set of texts. Equal ones of a grammar are one object."""

    __slots__ = (
        "alive",
        "clamped",
        "cuts",
        "depth",
        "id",
        "kind",
        "known",
        "nullable",
        "operands",
        "starts",
    )

    def __init__(self, number: int, kind: str, operands: tuple[Any, ...], nullable: bool) -> None:
        self.id = number
        self.kind = kind
        self.operands = operands
        inner = [one.depth for one in operands if isinstance(one, Expression)]
        self.depth = max(inner, default=-1) + 1
        # Whether the empty text is in it.
        self.nullable = nullable
        # Derivatives that are known, by their byte.
        self.known: dict[int, Expression] = {}
        # A bit for each byte that a text in it may begin with, once it is known.
        self.starts: int | None = None
        # A bit for each byte from which on derivatives may be others, once they are known.
        self.cuts: int | None = None
        # Whether a text is in it, once that is known.
        self.alive: bool | None = None
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

    def both(self, parts: Iterable[Expression]) -> Expression:
        """The texts that all of these have; none, where no text is left."""
        found = self._product(parts)
        return found if found.kind != "both" or self._has_text(found) else self.none

    def lacking(self, of: Expression) -> Expression:
        """The texts that another lacks: a part of `both` alone."""
        if of.kind == "not":
            return of.operands[0]
        return self._one("not", (of,), not of.nullable)

    def _product(self, parts: Iterable[Expression]) -> Expression:
        flat: dict[int, Expression] = {}
        for part in parts:
            for one in part.operands if part.kind == "both" else (part,):
                flat[one.id] = one
        everything = self.lacking(self.none)
        flat.pop(everything.id, None)
        self._spend(len(flat))
        found = tuple(flat[number] for number in sorted(flat))
        nullable = all(one.nullable for one in found)
        if self.none in found:
            return self.none
        if self.empty in found:
            return self.empty if nullable else self.none
        if len(found) < 2:
            return found[0] if found else everything
        return self._one("both", found, nullable)

    def _has_text(self, start: Expression) -> bool:
        """Looks for an end, first where least is open. What was on the way to one has it, too."""
        before: dict[Expression, Expression | None] = {start: None}
        queue = [(start.depth, 0, start)]
        while queue:
            at = heappop(queue)[2]
            if at.alive is False:
                continue
            if at.kind != "both" or at.nullable or at.alive:
                found: Expression | None = at
                while found is not None:
                    found.alive = True
                    found = before[found]
                return True
            cuts = self.cuts(at)
            for byte in range(BYTES):
                if cuts >> byte & 1:
                    after = self._product([self.next(part, byte) for part in at.operands])
                    if after is not self.none and after not in before:
                        before[after] = at
                        heappush(queue, (after.depth, len(before), after))
        for at in before:
            at.alive = False
        return False

    def _multiple(
        self, modulus: int, places: int, rest: int, left: int | None, has_digit: bool
    ) -> Expression:
        """:param left: places that may follow, or None before the point"""
        scaled = rest * 10 ** (places if left is None else left)
        nullable = has_digit and scaled % modulus == 0
        return self._one("multiple", (modulus, places, rest, left, has_digit), nullable)

    def _derive_multiple(self, operands: tuple[Any, ...], byte: int) -> Expression:
        modulus, places, rest, left, has_digit = operands
        if byte == POINT:
            is_next = has_digit and left is None and places > 0
            return self._multiple(modulus, places, rest, places, False) if is_next else self.none
        if left == 0:
            return self.none
        after = (rest * 10 + byte - ZERO) % modulus
        return self._multiple(modulus, places, after, None if left is None else left - 1, True)

    def _unique(
        self, left: Expression, text: bytes, of: tuple[Any, ...], seen: tuple[bytes, ...]
    ) -> Expression:
        """:param left: of the element that a text begins"""
        if left is self.none:
            return left
        nullable = left.nullable and len(seen) + 1 >= of[1]
        return self._one("unique", (left, text, of, seen), nullable)

    def _next_unique(self, of: tuple[Any, ...], seen: tuple[bytes, ...]) -> Expression:
        element, _, most, _ = of
        if len(seen) >= most:
            return self.none
        out = self.lacking(self.either([self.text(text) for text in seen]))
        return self._unique(self.both((element, out)), b"", of, seen)

    def cuts(self, of: Expression) -> int:
        """A bit for each byte from which on derivatives may be others than before."""
        if of.cuts is None:
            of.cuts = 1
            of.cuts = self._cuts(of)
        return of.cuts

    def _cuts(self, of: Expression) -> int:
        kind, operands = of.kind, of.operands
        if kind == "bytes":
            return 1 | operands[0] ^ operands[0] << 1
        if kind == "text":
            return 1 | 3 << operands[0][0]
        if kind == "multiple":
            return 1 | DIGITS | DIGITS << 1 | 3 << POINT
        if kind == "unique":
            return self.cuts(operands[0]) | 3 << COMMA
        if kind == "rule":
            return self.cuts(self.read[operands[0]])
        found = 1
        for one in operands:
            if isinstance(one, Expression):
                found |= self.cuts(one)
            if kind == "pair" and not one.nullable:
                break
        return found

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
        if kind == "both":
            # It has a text, as was found where it was made; its rules may come later.
            return self._product([read[place] for place in operands])
        if kind == "not":
            return self.lacking(read[operands[0]])
        if kind == "multiple":
            return self._multiple(operands[0], operands[1], 0, None, False)
        if kind == "unique":
            element, least, most, is_endless = operands
            return self._unique(read[element], b"", (read[element], least, most, is_endless), ())
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
        if kind == "both":
            return self.both([self.next(one, byte) for one in operands])
        if kind == "not":
            return self.lacking(self.next(operands[0], byte))
        if kind == "multiple":
            return self._derive_multiple(operands, byte)
        if kind == "unique":
            left, text, list_of, seen = operands
            inside = self._unique(self.next(left, byte), text + bytes((byte,)), list_of, seen)
            if byte != COMMA or not left.nullable:
                return inside
            return self.either((inside, self._next_unique(list_of, (*seen, text))))
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
        if kind == "both":
            found = EVERY_BYTE
            for one in operands:
                found &= self.starts(one)
            return found
        if kind == "not":
            return EVERY_BYTE
        if kind == "multiple":
            return DIGITS | 1 << POINT
        if kind == "unique":
            return self.starts(operands[0]) | (1 << COMMA if operands[0].nullable else 0)
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
        if kind == "unique":
            left, _, (element, least, most, is_endless), seen = operands
            if not is_endless:
                return of
            count = len(seen) + 1
            # As far as all elements begin alike: what comes then may hang on those before.
            first = self.starts(element)
            alike = self._one("bytes", (first,), False) if first & first - 1 == 0 else self.empty
            stuck = self._one("bytes", (0,), False)
            opening = self.pair(self.text(b","), self.pair(alike, stuck))
            end = self.none if count < least else self.empty
            more = self.none if count >= most else opening
            return self.pair(self.clamp(left), self.either((end, more)))
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
