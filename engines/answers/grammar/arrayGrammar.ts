import type { Expression } from "./expressions.ts";
import { listed } from "./members.ts";
import { type Keywords, type Reading, countOf, listOf, refused } from "./schemaNode.ts";

/** A list: its places, then other items. */
export function arrayGrammar(reading: Reading, keywords: Keywords): Expression {
  const { of, grammarOf } = reading;
  const { items, prefixItems, additionalItems, unevaluatedItems, uniqueItems } = keywords;
  if (uniqueItems !== undefined && uniqueItems !== false) throw refused('"uniqueItems"');
  const places: unknown[] = Array.isArray(items)
    ? (items as unknown[])
    : prefixItems === undefined
      ? []
      : listOf("prefixItems", prefixItems);
  const rest = Array.isArray(items) ? additionalItems : items;
  // Where nothing is said, a list has its places alone, or any items.
  const more = rest ?? unevaluatedItems ?? places.length === 0;
  const least = countOf("minItems", keywords["minItems"] ?? 0);
  const most = countOf("maxItems", keywords["maxItems"] ?? Infinity);
  if (places.length > most) {
    // Only the first places fit.
    const first = { prefixItems: places.slice(0, most), items: false, minItems: least };
    return arrayGrammar(reading, first);
  }
  const left = [Math.max(0, least - places.length), most - places.length] as const;
  const other = left[1] === 0 || more === false ? of.none : grammarOf(more);
  const written = places.map((place) => ({ text: grammarOf(place), isNeeded: true }));
  return of.sequence(of.text("["), listed(of, written, other, ...left), of.text("]"));
}
