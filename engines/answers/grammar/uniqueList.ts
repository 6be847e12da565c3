import { encodedOf } from "./characters.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { unsupported } from "./schemaNode.ts";

/** Elements of a list, at most. */
const MAX_ITEMS = 1000;
/** Bytes of an element within which elements are counted. */
const MAX_BYTES = 256;

/** Comma-separated elements, one or more, whose texts differ. */
interface UniqueList {
  element: Expression;
  minItems: number;
  maxItems: number;
  /** Whether there are more elements than a list has. */
  isEndless: boolean;
}

/** Elements that came. */
interface Seen {
  id: number;
  texts: readonly string[];
  /** By the text that is next. */
  after: Map<string, Seen>;
}

/** @returns `grammar.none` if there are not as many elements */
export function uniqueList(
  grammar: Expressions,
  element: Expression,
  minItems: number,
  maxItems: number,
): Expression {
  if (minItems > MAX_ITEMS) throw unsupported(`"uniqueItems" of more than ${MAX_ITEMS} items`);
  const count = countOf(grammar, element, minItems, MAX_ITEMS + 1);
  const list = {
    element,
    minItems: Math.max(1, minItems),
    maxItems: Math.min(maxItems, count, MAX_ITEMS),
  };
  return list.minItems > list.maxItems
    ? grammar.none
    : follow(grammar, { ...list, isEndless: count > MAX_ITEMS });
}

function follow(grammar: Expressions, list: UniqueList): Expression {
  const { element, minItems, maxItems, isEndless } = list;
  const bytes = new Set(Array.from({ length: 256 }, (_, byte) => byte));
  const begins = [...bytes].filter((byte) => grammar.derivative(element, byte) !== grammar.none);
  const all: Seen[] = [];
  const number = grammar.count();
  const stuck = grammar.intern(`stuck ${number}`, () => ({
    isNullable: false,
    derive: () => grammar.none,
    classStarts: grammar.none.classStarts,
  }));
  // As far as all elements begin alike: what comes then may hang on those before.
  const alike: Expression[] =
    begins.length === 1 ? [grammar.bytes([[begins[0]!, begins[0]!]])] : [];
  const opening = grammar.sequence(grammar.text(","), ...alike, stuck);

  function seenOf(texts: readonly string[]): Seen {
    return all[all.push({ id: all.length, texts, after: new Map() }) - 1]!;
  }

  function from(seen: Seen): Expression {
    return within(
      grammar.intersection(element, grammar.complement(encodedOf(grammar, seen.texts))),
      "",
      seen,
    );
  }

  /** @param left of the element that `text` begins, a character for each byte */
  function within(left: Expression, text: string, seen: Seen): Expression {
    if (left === grammar.none) return grammar.none;
    const count = seen.texts.length + 1;
    function behind(): Expression {
      if (count >= maxItems) return grammar.none;
      const known = seen.after.get(text) ?? seenOf([...seen.texts, text]);
      seen.after.set(text, known);
      return from(known);
    }
    return grammar.intern(`u${number},${left.id},${seen.id},${text}`, () => ({
      isNullable: left.isNullable && count >= minItems,
      derive(byte) {
        const inside = within(
          grammar.derivative(left, byte),
          text + String.fromCharCode(byte),
          seen,
        );
        return byte === 0x2c && left.isNullable ? grammar.either(inside, behind()) : inside;
      },
      ...(isEndless && {
        limitedTo: (length: number) =>
          grammar.sequence(
            left.limitedTo(length),
            grammar.either(
              count < minItems ? grammar.none : grammar.empty,
              count < maxItems ? opening : grammar.none,
            ),
          ),
      }),
      // Each leads to another text.
      classStarts: () => bytes,
    }));
  }

  return from(seenOf([]));
}

/** How many texts there are, or `max`. @throws KitError `REQUEST_INVALID` if as many as `min` may be longer ones */
function countOf(grammar: Expressions, from: Expression, min: number, max: number): number {
  let level = new Map([[from, 1]]);
  let count = 0;
  for (let length = 0; length < MAX_BYTES && level.size > 0 && count < max; length++) {
    const next = new Map<Expression, number>();
    for (const [at, ways] of level) {
      if (at.isNullable) count += ways;
      const cuts = [...at.classStarts()].sort((a, b) => a - b);
      cuts.forEach((byte, i) => {
        const after = byte > 255 ? grammar.none : grammar.derivative(at, byte);
        const width = (cuts[i + 1] ?? 256) - byte;
        if (after !== grammar.none) next.set(after, (next.get(after) ?? 0) + ways * width);
      });
    }
    level = next;
  }
  if (level.size > 0 && count < min)
    throw unsupported(`"uniqueItems" of items of more than ${MAX_BYTES} bytes`);
  return Math.min(count, max);
}
