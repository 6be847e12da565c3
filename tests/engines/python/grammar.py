"""Prints, for forms and texts, which bytes may come at each place of a text, and whether it may
end there: grammar.py <folder of the engine> <file of forms and texts>. Of a form that takes too
much, what it says."""

import json
import sys
from typing import Any

sys.path.insert(0, sys.argv[1])

from kit_engine.answer.grammar import Grammar
from kit_engine.process.errors import KitError


def followed(form: str, count: int, text: str) -> list[Any] | str:
    found: list[Any] = []
    try:
        grammar = Grammar(form, count, False)
        place = grammar.root
        for byte in [*text.encode("latin-1"), None]:
            grammar.begin()
            row = grammar.transitions(place)
            starts = [byte for byte in range(256) if row[byte]]
            found.append([starts, grammar.is_accepting(place)])
            # Of as many bytes as a token has.
            clamped = grammar.transitions(grammar.clamp(place, 64))
            assert [byte for byte in range(256) if clamped[byte]] == starts
            if byte is not None:
                place = row[byte]
    except KitError as error:
        return str(error)
    return found


with open(sys.argv[2], encoding="utf-8") as file:
    print(json.dumps([followed(*one["form"], one["text"]) for one in json.load(file)]))
