import { encodedOf } from "./characters.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { unsupported } from "./schemaNode.ts";

/** Maximum items of a list. */
const MAX_ITEMS = 1000;
/** Maximum length of items that are counted. */
const MAX_COUNTED_BYTES = 256;

/** Comma-separated items, at least one, whose texts differ. */
interface UniqueList {
  item: Expression;
  minItems: number;
  maxItems: number;
  /** Whether there are more distinct items than Kit counts. */
  isUncounted: boolean;
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
    : compileList(grammar, { ...list, isUncounted: count > MAX_ITEMS });
}

function compileList(grammar: Expressions, list: UniqueList): Expression {
  const { item, minItems, maxItems, isUncounted } = list;
  const bytes = new Set(Array.from({ length: 256 }, (_, byte) => byte));
  const firstBytes = [...bytes].filter((byte) => grammar.derivative(item, byte) !== grammar.none);
  const all: ItemsSoFar[] = [];
  const listId = grammar.count();
  // Matches nothing, without being `none`: a sequence with `none` is itself `none` from its start.
  const stuck = grammar.intern(`stuck ${listId}`, () => ({
    isNullable: false,
    derive: () => grammar.none,
    classStarts: grammar.none.classStarts,
  }));
  // The first byte that all items share, if any: the rest depends on the items so far.
  const sharedByte: Expression[] =
    firstBytes.length === 1 ? [grammar.bytes([[firstBytes[0]!, firstBytes[0]!]])] : [];
  const opening = grammar.sequence(grammar.text(","), ...sharedByte, stuck);

  function itemsOf(texts: readonly string[]): ItemsSoFar {
    return all[all.push({ id: all.length, texts, after: new Map() }) - 1]!;
  }

  function nextItem(seen: ItemsSoFar): Expression {
    return within(
      grammar.intersection(item, grammar.complement(encodedOf(grammar, seen.texts))),
      "",
      seen,
    );
  }

  /** The rest of an item that begins with `text` (one character per byte), and the items after it. */
  function within(rest: Expression, text: string, seen: ItemsSoFar): Expression {
    if (rest === grammar.none) return grammar.none;
    const count = seen.texts.length + 1;
    function afterComma(): Expression {
      if (count >= maxItems) return grammar.none;
      const extended = seen.after.get(text) ?? itemsOf([...seen.texts, text]);
      seen.after.set(text, extended);
      return nextItem(extended);
    }
    return grammar.intern(`u${listId},${rest.id},${seen.id},${text}`, () => ({
      isNullable: rest.isNullable && count >= minItems,
      derive(byte) {
        const inside = within(
          grammar.derivative(rest, byte),
          text + String.fromCharCode(byte),
          seen,
        );
        return byte === 0x2c && rest.isNullable ? grammar.either(inside, afterComma()) : inside;
      },
      ...(isUncounted && {
        limitedTo: (length: number) =>
          grammar.sequence(
            rest.limitedTo(length),
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

  return nextItem(itemsOf([]));
}

/**
 * Number of distinct texts, at most `max`.
 * @throws KitError `REQUEST_INVALID` if it finds fewer than `min`, but longer ones may exist
 */
function countOf(grammar: Expressions, from: Expression, min: number, max: number): number {
  let level = new Map([[from, 1]]);
  let count = 0;
  for (let length = 0; length < MAX_COUNTED_BYTES && level.size > 0 && count < max; length++) {
    const next = new Map<Expression, number>();
    for (const [state, textCount] of level) {
      if (state.isNullable) count += textCount;
      const starts = [...state.classStarts()].sort((a, b) => a - b);
      starts.forEach((byte, i) => {
        const after = byte > 255 ? grammar.none : grammar.derivative(state, byte);
        const width = (starts[i + 1] ?? 256) - byte;
        if (after !== grammar.none) next.set(after, (next.get(after) ?? 0) + textCount * width);
      });
    }
    level = next;
  }
  if (level.size > 0 && count < min)
    throw unsupported(`"uniqueItems" with items longer than ${MAX_COUNTED_BYTES} bytes`);
  return Math.min(count, max);
}
