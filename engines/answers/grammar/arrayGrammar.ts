import { containing } from "./containing.ts";
import type { Expression } from "./expression.ts";
import { listed } from "./members.ts";
import {
  type Keywords,
  type Reading,
  countOf,
  countsOf,
  listOf,
  refused,
  valuesOf,
} from "./schemaNode.ts";
import { uniqueList } from "./uniqueList.ts";
import { MAX_IN_A_ROW, tooLarge } from "./work.ts";

/** An array: its prefix items, then the rest. */
export function arrayGrammar(reading: Reading, facts: readonly Keywords[]): Expression {
  const isUnique = facts.some(({ uniqueItems }) => uniqueItems === true);
  const before = reading.isPlain;
  reading.isPlain ||= isUnique;
  const found = readArray(reading, facts, isUnique);
  reading.isPlain = before;
  return found;
}

function readArray(reading: Reading, facts: readonly Keywords[], isUnique: boolean): Expression {
  const { of, grammarOf } = reading;
  if (valuesOf(facts, "notValues").flat().some(Array.isArray)) throw refused('"not" with an array');
  const groups = facts.map(({ items, prefixItems, additionalItems }) => ({
    places: Array.isArray(items)
      ? (items as unknown[])
      : prefixItems === undefined
        ? []
        : listOf("prefixItems", prefixItems),
    rest: Array.isArray(items) ? additionalItems : items,
  }));
  const { least, most } = countsOf(facts, "minItems", "maxItems");
  const length = Math.min(most, Math.max(0, ...groups.map(({ places }) => places.length)));
  if (length > MAX_IN_A_ROW) throw tooLarge();
  const schemas = Array.from({ length }, (_, i) =>
    groups.map(({ places: own, rest = true }) => (i < own.length ? own[i] : rest)),
  );
  const others = groups.flatMap(({ rest }) => (rest === undefined ? [] : [rest]));
  const containers = facts.filter((fact) => fact["contains"] !== undefined);
  // If the schema doesn't say which items may follow: none if the prefix items satisfy minItems, otherwise any.
  const isEnough = length >= least && length > 0 && containers.length === 0;
  const isClosed = (others.length === 0 && isEnough) || most === length;
  const item = isClosed ? of.none : grammarOf(...others);
  const lists = containers.map(({ contains, minContains = 1, maxContains }) => {
    const itemOf = (...schemas: unknown[]) => ({
      match: grammarOf(contains, ...schemas),
      other:
        maxContains === undefined
          ? grammarOf(...schemas)
          : grammarOf({ not: contains }, ...schemas),
    });
    const counts = {
      least,
      most,
      low: countOf("minContains", minContains),
      high: maxContains === undefined ? Infinity : countOf("maxContains", maxContains),
    };
    const rest = isClosed ? { match: of.none, other: of.none } : itemOf(...others);
    return containing(of, { places: schemas.map((some) => itemOf(...some)), rest }, counts);
  });
  const places = schemas.map((some) => grammarOf(...some));
  const written = places.map((text) => ({ text, isNeeded: true }));
  if (lists.length === 0 && !(isUnique && length === 0))
    lists.push(listed(of, written, item, least, most));
  if (isUnique) {
    const [low, high] = lists.length > 0 ? [0, Infinity] : [least, most];
    const unique = uniqueList(of, of.either(item, ...places), low, high);
    lists.push(low === 0 ? of.either(of.empty, unique) : unique);
  }
  return of.sequence(of.text("["), of.both(...lists), of.text("]"));
}
