import { MAX_SIBLINGS, tooLarge } from "./budget.ts";
import { containsGrammar } from "./containsGrammar.ts";
import type { Expression } from "./expression.ts";
import { listGrammar } from "./listGrammar.ts";
import {
  type Keywords,
  type CompileContext,
  countOf,
  countsOf,
  listOf,
  unsupported,
  valuesOf,
} from "./schemaNode.ts";
import { uniqueList } from "./uniqueList.ts";

/** An array: its prefix items, then the rest. */
export function arrayGrammar(
  context: CompileContext,
  keywordSets: readonly Keywords[],
): Expression {
  const isUnique = keywordSets.some(({ uniqueItems }) => uniqueItems === true);
  const wasCanonical = context.isCanonical;
  // Unique items are compared as text, so each value must have one spelling.
  context.isCanonical ||= isUnique;
  const found = readArray(context, keywordSets, isUnique);
  context.isCanonical = wasCanonical;
  return found;
}

function readArray(
  context: CompileContext,
  keywordSets: readonly Keywords[],
  isUnique: boolean,
): Expression {
  const { grammar, grammarOf } = context;
  // `notValues` comes from a `not`, see negation.ts.
  if (valuesOf(keywordSets, "notValues").flat().some(Array.isArray))
    throw unsupported('"not" with an array');
  const groups = keywordSets.map(({ items, prefixItems, additionalItems }) => ({
    prefixItems: Array.isArray(items)
      ? (items as unknown[])
      : prefixItems === undefined
        ? []
        : listOf("prefixItems", prefixItems),
    rest: Array.isArray(items) ? additionalItems : items,
  }));
  const { minimum: minItems, maximum: maxItems } = countsOf(keywordSets, "minItems", "maxItems");
  const length = Math.min(
    maxItems,
    Math.max(0, ...groups.map(({ prefixItems }) => prefixItems.length)),
  );
  if (length > MAX_SIBLINGS) throw tooLarge();
  const schemas = Array.from({ length }, (_, i) =>
    groups.map(({ prefixItems, rest = true }) => (i < prefixItems.length ? prefixItems[i] : rest)),
  );
  const restSchemas = groups.flatMap(({ rest }) => (rest === undefined ? [] : [rest]));
  const containers = keywordSets.filter((keywords) => keywords["contains"] !== undefined);
  // A schema that doesn't say which items may follow allows none if its prefix items satisfy minItems (and there is no
  // `contains`); otherwise it allows any.
  const isEnough = length >= minItems && length > 0 && containers.length === 0;
  const isClosed = (restSchemas.length === 0 && isEnough) || maxItems === length;
  const item = isClosed ? grammar.none : grammarOf(...restSchemas);
  const lists = containers.map(({ contains, minContains = 1, maxContains }) => {
    const itemOf = (...schemas: unknown[]) => ({
      match: grammarOf(contains, ...schemas),
      other:
        maxContains === undefined
          ? grammarOf(...schemas)
          : grammarOf({ not: contains }, ...schemas),
    });
    const counts = {
      minItems,
      maxItems,
      minContains: countOf("minContains", minContains),
      maxContains: maxContains === undefined ? Infinity : countOf("maxContains", maxContains),
    };
    const rest = isClosed ? { match: grammar.none, other: grammar.none } : itemOf(...restSchemas);
    return containsGrammar(
      grammar,
      { prefixItems: schemas.map((itemSchemas) => itemOf(...itemSchemas)), rest },
      counts,
    );
  });
  const prefixItems = schemas.map((itemSchemas) => grammarOf(...itemSchemas));
  const members = prefixItems.map((expression) => ({ expression, isRequired: true }));
  // Without prefix items or `contains`, the unique list below says it all.
  if (lists.length === 0 && !(isUnique && length === 0))
    lists.push(listGrammar(grammar, members, item, minItems, maxItems));
  if (isUnique) {
    const [min, max] = lists.length > 0 ? [0, Infinity] : [minItems, maxItems];
    const unique = uniqueList(grammar, grammar.either(item, ...prefixItems), min, max);
    lists.push(min === 0 ? grammar.either(grammar.empty, unique) : unique);
  }
  return grammar.sequence(grammar.text("["), grammar.intersection(...lists), grammar.text("]"));
}
