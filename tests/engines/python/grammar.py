"""Prints, for grammars and texts, which bytes may come at each place of a text, and whether it may
end there: grammar.py <folder of the engine> <file of grammars and texts>. Of a grammar that takes
too much, what it says."""

import json
import sys
from typing import Any

sys.path.insert(0, sys.argv[1])

from kit_engine.errors import KitError
from kit_engine.grammar import Expression, Grammar


def bytes_after(grammar: Grammar, place: Expression) -> list[int]:
    starts = grammar.starts(place)
    some = [byte for byte in range(256) if starts >> byte & 1]
    return [byte for byte in some if grammar.next(place, byte) is not grammar.none]


def followed(written: dict[str, Any], text: str) -> list[Any] | str:
    found: list[Any] = []
    try:
        grammar = Grammar(written)
        place = grammar.root
        for byte in [*text.encode("latin-1"), None]:
            grammar.begin()
            starts = bytes_after(grammar, place)
            found.append([starts, place.nullable])
            # Of as many bytes as a token has.
            assert bytes_after(grammar, grammar.clamp(place)) == starts
            if byte is not None:
                place = grammar.next(place, byte)
    except KitError as error:
        return str(error)
    return found


with open(sys.argv[2], encoding="utf-8") as file:
    print(json.dumps([followed(one["written"], one["text"]) for one in json.load(file)]))
