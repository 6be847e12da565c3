import { encodedOf } from "./characters.ts";
import type { Expression } from "./expression.ts";
import type { Expressions } from "./expressions.ts";
import { refused } from "./schemaNode.ts";

/** Elements of a list, at most. */
const MOST = 1000;
/** Bytes of an element within which elements are counted. */
const MAX_BYTES = 256;

/** Comma-separated elements, one or more, whose texts differ. */
interface UniqueList {
  element: Expression;
  least: number;
  most: number;
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

/** @returns `of.none` if there are not as many elements */
export function uniqueList(
  of: Expressions,
  element: Expression,
  least: number,
  most: number,
): Expression {
  if (least > MOST) throw refused(`"uniqueItems" of more than ${MOST} items`);
  const count = countOf(of, element, least, MOST + 1);
  const list = { element, least: Math.max(1, least), most: Math.min(most, count, MOST) };
  return list.least > list.most ? of.none : follow(of, { ...list, isEndless: count > MOST });
}

function follow(of: Expressions, list: UniqueList): Expression {
  const { element, least, most, isEndless } = list;
  const bytes = new Set(Array.from({ length: 256 }, (_, byte) => byte));
  const begins = [...bytes].filter((byte) => of.next(element, byte) !== of.none);
  const all: Seen[] = [];
  const number = of.count();
  const stuck = of.one(`stuck ${number}`, () => ({
    isNullable: false,
    derive: () => of.none,
    cuts: of.none.cuts,
  }));
  // As far as all elements begin alike: what comes then may hang on those before.
  const alike: Expression[] = begins.length === 1 ? [of.bytes([[begins[0]!, begins[0]!]])] : [];
  const opening = of.sequence(of.text(","), ...alike, stuck);

  function seenOf(texts: readonly string[]): Seen {
    return all[all.push({ id: all.length, texts, after: new Map() }) - 1]!;
  }

  function from(seen: Seen): Expression {
    return within(of.both(element, of.not(encodedOf(of, seen.texts))), "", seen);
  }

  /** @param left of the element that `text` begins, a character for each byte */
  function within(left: Expression, text: string, seen: Seen): Expression {
    if (left === of.none) return of.none;
    const count = seen.texts.length + 1;
    function behind(): Expression {
      if (count >= most) return of.none;
      const known = seen.after.get(text) ?? seenOf([...seen.texts, text]);
      seen.after.set(text, known);
      return from(known);
    }
    return of.one(`u${number},${left.id},${seen.id},${text}`, () => ({
      isNullable: left.isNullable && count >= least,
      derive(byte) {
        const inside = within(of.next(left, byte), text + String.fromCharCode(byte), seen);
        return byte === 0x2c && left.isNullable ? of.either(inside, behind()) : inside;
      },
      ...(isEndless && {
        clamp: (length: number) =>
          of.sequence(
            left.clamp(length),
            of.either(count < least ? of.none : of.empty, count < most ? opening : of.none),
          ),
      }),
      // Each leads to another text.
      cuts: () => bytes,
    }));
  }

  return from(seenOf([]));
}

/** How many texts there are, or `most`. @throws KitError `REQUEST_INVALID` if as many as `least` may be longer ones */
function countOf(of: Expressions, from: Expression, least: number, most: number): number {
  let level = new Map([[from, 1]]);
  let count = 0;
  for (let length = 0; length < MAX_BYTES && level.size > 0 && count < most; length++) {
    const next = new Map<Expression, number>();
    for (const [at, ways] of level) {
      if (at.isNullable) count += ways;
      const cuts = [...at.cuts()].sort((a, b) => a - b);
      cuts.forEach((byte, i) => {
        const after = byte > 255 ? of.none : of.next(at, byte);
        const width = (cuts[i + 1] ?? 256) - byte;
        if (after !== of.none) next.set(after, (next.get(after) ?? 0) + ways * width);
      });
    }
    level = next;
  }
  if (level.size > 0 && count < least)
    throw refused(`"uniqueItems" of items of more than ${MAX_BYTES} bytes`);
  return Math.min(count, most);
}
