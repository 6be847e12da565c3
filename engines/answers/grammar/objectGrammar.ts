import { isRecord } from "../../../protocol/isRecord.ts";
import { keysOf } from "../../../protocol/json.ts";
import { MAX_SIBLINGS, tooLarge } from "./budget.ts";
import { textsOf } from "./characters.ts";
import type { Expression } from "./expression.ts";
import { listGrammar } from "./listGrammar.ts";
import { schemaPattern } from "./pattern.ts";
import {
  type Keywords,
  type CompileContext,
  countsOf,
  listOf,
  recordOf,
  unsupported,
  valuesOf,
} from "./schemaNode.ts";
import { ANY_TEXT, quoted, textWithin } from "./stringGrammar.ts";

/** Maximum number of name patterns. Each may match a name or not, so all subsets are compiled. */
const MAX_PATTERNS = 6;

/** An object: its known properties in their order, then others. */
export function objectGrammar(
  context: CompileContext,
  keywordSets: readonly Keywords[],
  matchesText: (grammar: Expression, text: string) => boolean,
): Expression {
  const { grammar, grammarOf } = context;
  if (valuesOf(keywordSets, "notValues").flat().some(isRecord))
    throw unsupported('"not" with an object');
  const groups = keywordSets.map((keywords) => ({
    properties: recordOf("properties", keywords["properties"] ?? {}),
    patterns: Object.entries(recordOf("patternProperties", keywords["patternProperties"] ?? {})),
    additional: keywords["additionalProperties"],
  }));
  const required = new Set(
    valuesOf(keywordSets, "required")
      .flatMap((names) => listOf("required", names))
      .map(String),
  );
  const knownNames = [
    ...new Set([...groups.flatMap(({ properties }) => keysOf(properties)), ...required]),
  ];
  // Before the values are compiled, which takes long.
  if (knownNames.length > MAX_SIBLINGS) throw tooLarge();
  const { minimum, maximum } = countsOf(keywordSets, "minProperties", "maxProperties");
  const patterns = [
    ...new Set(groups.flatMap((group) => group.patterns.map(([source]) => source))),
  ];
  if (patterns.length > MAX_PATTERNS)
    throw unsupported(`more than ${MAX_PATTERNS} "patternProperties"`);
  const names = valuesOf(keywordSets, "propertyNames").filter((schema) => schema !== true);
  const nameGrammar =
    names.length > 0 ? grammarOf(...names, { type: "string", ...ANY_TEXT }) : undefined;

  /** The schemas of a property that matches these patterns. */
  function schemasOf(matched: (source: string) => boolean, name?: string): unknown[] {
    return groups.flatMap(({ properties, patterns: groupPatterns, additional }) => {
      const isKnown = name !== undefined && Object.hasOwn(properties, name);
      const found = groupPatterns.filter(([source]) => matched(source)).map(([, schema]) => schema);
      if (isKnown) return [properties[name], ...found];
      return found.length > 0 || additional === undefined ? found : [additional];
    });
  }

  function knownMember(name: string) {
    const isNamed = !nameGrammar || matchesText(nameGrammar, JSON.stringify(name));
    const value = isNamed
      ? grammarOf(...schemasOf((source) => isMatch(source, name), name))
      : grammar.none;
    return {
      expression: grammar.sequence(grammar.text(`${JSON.stringify(name)}:`), value),
      isRequired: required.has(name),
    };
  }

  /** If the schema doesn't say whether other properties may follow: none after known ones, otherwise any. */
  function allowsOthers(): boolean {
    if (groups.some(({ additional }) => additional !== undefined)) return true;
    const describesProperties = keywordSets.some(
      (keywords) => "properties" in keywords || "patternProperties" in keywords,
    );
    return knownNames.length === 0 && (!describesProperties || minimum > 0 || names.length > 0);
  }

  /** Any unknown property whose name matches these patterns and no others. */
  function otherMember(matching: readonly string[]): Expression {
    const schemas = schemasOf((source) => matching.includes(source));
    if (schemas.includes(false) || (matching.length === 0 && !allowsOthers())) return grammar.none;
    const name = quoted(
      grammar,
      textWithin(context, {
        patterns: matching.map((source) => schemaPattern(grammar, source)),
        excluded: [
          textsOf(
            grammar,
            knownNames.map((name) => JSON.stringify(name).slice(1, -1)),
          ),
          ...patterns
            .filter((source) => !matching.includes(source))
            .map((source) => schemaPattern(grammar, source)),
        ],
      }),
    );
    const allowedName = nameGrammar ? grammar.intersection(name, nameGrammar) : name;
    return allowedName === grammar.none
      ? grammar.none
      : grammar.sequence(allowedName, grammar.text(":"), grammarOf(...schemas));
  }

  const subsets = Array.from({ length: 2 ** patterns.length }, (_, bits) =>
    patterns.filter((__, i) => (bits >> i) & 1),
  );
  const other = grammar.either(...subsets.map(otherMember));
  const members = knownNames.map(knownMember);
  const isCounted = other !== grammar.none && minimum > Math.max(1, required.size);
  // An unknown name may be repeated, so it can't be counted.
  if (isCounted && knownNames.length < minimum) throw unsupported('"minProperties" above 1');
  // Other properties have no fixed order, so equal objects could differ in text.
  const mayHaveOthers = !isCounted && !context.isCanonical;
  const body = listGrammar(
    grammar,
    members,
    mayHaveOthers ? other : grammar.none,
    minimum,
    maximum,
  );
  return grammar.sequence(grammar.text("{"), body, grammar.text("}"));
}

function isMatch(source: string, name: string): boolean {
  try {
    return new RegExp(source, "u").test(name);
  } catch {
    // Refused when it is compiled.
    return false;
  }
}
