import { encodedOf } from "./characters.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { unsupported } from "./schemaNode.ts";

/** Limit of a list's items. */
const MAX_ITEMS = 1000;
/** Items of up to this many bytes are counted. */
const MAX_BYTES = 256;

/** Comma-separated items, at least one, whose texts differ. */
interface UniqueList {
  item: Expression;
  minItems: number;
  maxItems: number;
  /** Whether there are more distinct items than a list may have. */
  isEndless: boolean;
}

interface ItemsSoFar {
  id: number;
  texts: readonly string[];
  /** The state after another item, by its text. */
  after: Map<string, ItemsSoFar>;
}

/** @returns `grammar.none` if there are fewer than `minItems` distinct items */
export function uniqueList(
  grammar: Expressions,
  item: Expression,
  minItems: number,
  maxItems: number,
): Expression {
  if (minItems > MAX_ITEMS) throw unsupported(`"uniqueItems" of more than ${MAX_ITEMS} items`);
  const count = countOf(grammar, item, minItems, MAX_ITEMS + 1);
  const list = {
    item,
    minItems: Math.max(1, minItems),
    maxItems: Math.min(maxItems, count, MAX_ITEMS),
  };
  return list.minItems > list.maxItems
    ? grammar.none
    : follow(grammar, { ...list, isEndless: count > MAX_ITEMS });
}

function follow(grammar: Expressions, list: UniqueList): Expression {
  const { item, minItems, maxItems, isEndless } = list;
  const bytes = new Set(Array.from({ length: 256 }, (_, byte) => byte));
  const begins = [...bytes].filter((byte) => grammar.derivative(item, byte) !== grammar.none);
  const all: ItemsSoFar[] = [];
  const number = grammar.count();
  const stuck = grammar.intern(`stuck ${number}`, () => ({
    isNullable: false,
    derive: () => grammar.none,
    classStarts: grammar.none.classStarts,
  }));
  // Only as far as all items begin alike: what follows depends on the items so far.
  const alike: Expression[] =
    begins.length === 1 ? [grammar.bytes([[begins[0]!, begins[0]!]])] : [];
  const opening = grammar.sequence(grammar.text(","), ...alike, stuck);

  function itemsOf(texts: readonly string[]): ItemsSoFar {
    return all[all.push({ id: all.length, texts, after: new Map() }) - 1]!;
  }

  function from(seen: ItemsSoFar): Expression {
    return within(
      grammar.intersection(item, grammar.complement(encodedOf(grammar, seen.texts))),
      "",
      seen,
    );
  }

  /** @param left rest of the item that begins with `text`, one character per byte */
  function within(left: Expression, text: string, seen: ItemsSoFar): Expression {
    if (left === grammar.none) return grammar.none;
    const count = seen.texts.length + 1;
    function nextItem(): Expression {
      if (count >= maxItems) return grammar.none;
      const known = seen.after.get(text) ?? itemsOf([...seen.texts, text]);
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
        return byte === 0x2c && left.isNullable ? grammar.either(inside, nextItem()) : inside;
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
      // Every byte leads to a different text.
      classStarts: () => bytes,
    }));
  }

  return from(itemsOf([]));
}

/**
 * Number of distinct texts, at most `max`.
 * @throws KitError `REQUEST_INVALID` if it can't find `min`, because longer ones may exist
 */
function countOf(grammar: Expressions, from: Expression, min: number, max: number): number {
  let level = new Map([[from, 1]]);
  let count = 0;
  for (let length = 0; length < MAX_BYTES && level.size > 0 && count < max; length++) {
    const next = new Map<Expression, number>();
    for (const [at, ways] of level) {
      if (at.isNullable) count += ways;
      const starts = [...at.classStarts()].sort((a, b) => a - b);
      starts.forEach((byte, i) => {
        const after = byte > 255 ? grammar.none : grammar.derivative(at, byte);
        const width = (starts[i + 1] ?? 256) - byte;
        if (after !== grammar.none) next.set(after, (next.get(after) ?? 0) + ways * width);
      });
    }
    level = next;
  }
  if (level.size > 0 && count < min)
    throw unsupported(`"uniqueItems" with items longer than ${MAX_BYTES} bytes`);
  return Math.min(count, max);
}
