import type { KitError } from "../../../protocol/error.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { keysOf } from "../../../protocol/json.ts";
import { type Range, ANY, characterOf, without } from "./characters.ts";
import type { Expression, Expressions } from "./expressions.ts";
import { listed } from "./members.ts";
import { type Keywords, type Reading, countOf, listOf, refused, typesOf } from "./schemaNode.ts";
import { anyString, quoted } from "./stringGrammar.ts";

/** An object: its known properties in their order, then others. */
export function objectGrammar(reading: Reading, keywords: Keywords): Expression {
  const { of, grammarOf } = reading;
  const { properties = {}, required = [], propertyNames = true, minProperties = 0 } = keywords;
  const { additionalProperties, unevaluatedProperties } = keywords;
  if (!isRecord(properties)) throw refused('"properties" that are no object');
  const needed = new Set(listOf("required", required).map(String));
  const known = [...new Set([...keysOf(properties), ...needed])];
  // Where nothing is said, an object has its properties alone, or any.
  const isBound = "properties" in keywords && propertyNames === true && minProperties === 0;
  const isFree = known.length === 0 && !isBound;
  const more = additionalProperties ?? unevaluatedProperties ?? isFree;
  const unnamed =
    more === false && (additionalProperties ?? unevaluatedProperties) !== false ? true : more;
  const valueOf = (name: string) =>
    grammarOf(Object.hasOwn(properties, name) ? properties[name] : unnamed);
  const written = known.map((name) => ({
    text: of.sequence(of.text(`${JSON.stringify(name)}:`), valueOf(name)),
    isNeeded: needed.has(name),
  }));
  const isOpen = mayHaveOthers(propertyNames, known) && more !== false;
  const other = !isOpen
    ? of.none
    : of.sequence(nameOf(reading, propertyNames, known), of.text(":"), grammarOf(more));
  if (minProperties !== 0 && known.length > 0 && Number(minProperties) > needed.size) {
    throw refused('"minProperties" beside "properties"');
  }
  const least = known.length > 0 ? 0 : countOf("minProperties", minProperties);
  // A name may come twice.
  if (least > 1) throw refused('"minProperties" of more than 1');
  return of.sequence(of.text("{"), listed(of, written, other, least), of.text("}"));
}

/** The name of a property that is not known. */
function nameOf(reading: Reading, names: unknown, known: readonly string[]): Expression {
  const { of, grammarOf } = reading;
  if (known.length > 0)
    return quoted(
      of,
      otherThan(
        of,
        known.map((name) => [...name]),
      ),
    );
  if (names === true) return anyString(reading);
  if (!isRecord(names)) return grammarOf(names);
  const isText = names["type"] === undefined || typesOf(names["type"]).includes("string");
  return isText ? grammarOf({ ...names, type: "string" }) : of.none;
}

/** Whether there may be properties that are not known. */
function mayHaveOthers(names: unknown, known: readonly string[]): boolean {
  if (names === true || known.length === 0) return true;
  // Zod writes `propertyNames` beside the keys that a record requires.
  const { type = "string", enum: some, ...others } = isRecord(names) ? names : { names };
  if (type !== "string" || Object.keys(others).length > 0) throw besideNames();
  if (Array.isArray(some)) {
    const listed = new Set<unknown>(some);
    if (!known.every((name) => listed.has(name))) throw besideNames();
    return false;
  }
  if (some !== undefined) throw besideNames();
  return true;
}

/** Any unescaped text except these. @param at length of the prefix that they share, in characters */
function otherThan(of: Expressions, texts: readonly (readonly string[])[], at = 0): Expression {
  const byFirst = new Map<string, (readonly string[])[]>();
  for (const text of texts) {
    of.spend(1);
    const first = text[at];
    if (first === undefined) continue;
    const same = byFirst.get(first);
    if (same) same.push(text);
    else byFirst.set(first, [text]);
  }
  const unescaped = (taken: readonly string[]) => {
    const codes = [...taken.map((text) => text.codePointAt(0)!), 0x22, 0x5c];
    const others = codes.map((code): Range => [code, code]);
    return characterOf(of, without(ANY, [[0, 0x1f], ...others]));
  };
  const any = of.repeat(unescaped([]), 0, Infinity);
  const begun = [...byFirst].filter(([first]) => !['"', "\\"].includes(first) && first >= " ");
  return of.either(
    texts.some((text) => text.length === at) ? of.none : of.empty,
    of.sequence(unescaped([...byFirst.keys()]), any),
    ...begun.map(([first, same]) => of.sequence(of.text(first), otherThan(of, same, at + 1))),
  );
}

function besideNames(): KitError {
  return refused('"propertyNames" beside "properties" or "required"');
}
