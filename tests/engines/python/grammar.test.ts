import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { constraintGrammar } from "../../../engines/answers/constraintSpec.ts";
import { createExpressions } from "../../../engines/answers/grammar/expressions.ts";
import { createRandom } from "../../../engines/dataset/random.ts";
import type { JsonSchema } from "../../../protocol/infer.ts";
import { WholeFloat, stringifyJson } from "../../../protocol/json.ts";
import { createScratch } from "../scratch.ts";
import { ENGINE_FOLDER, PYTHON, hasPython } from "./environment.ts";

const PROGRAM = fileURLToPath(new URL("grammar.py", import.meta.url));
/** Bytes of a text, at most: what an answer may have is endless. */
const LONGEST = 120;

const TREE = {
  $ref: "#/$defs/tree",
  $defs: {
    tree: {
      type: "object",
      properties: {
        value: { type: ["integer", "null"] },
        sides: { type: "array", items: { $ref: "#/$defs/tree" }, maxItems: 2 },
      },
      required: ["value"],
    },
  },
};

/** As deep as an expression gets. */
const MANY = Array.from({ length: 700 }, (_, i) => `p${i}`);

const SCHEMAS: JsonSchema[] = [
  true,
  TREE,
  { enum: ["", "é", "éa", 1, 12, { a: [null] }, "\u{1f9ea}"] },
  { type: "string", minLength: 2, maxLength: 5 },
  { type: "string", maxLength: 300 },
  { type: "string", pattern: "^(?:ab?|[^a-y]{2,3}\\d+)*$" },
  { type: "string", format: "date-time" },
  { type: "integer", minimum: -17, exclusiveMaximum: 204 },
  { type: "number", minimum: 0.25, maximum: 3 },
  { type: "integer", minimum: 2n ** 63n - 10n, maximum: 2n ** 64n },
  { type: "number", exclusiveMinimum: 0 },
  { enum: [2512292042121000001n, new WholeFloat(1)] },
  { type: "array", prefixItems: [{ const: 1 }, { type: "boolean" }], items: { type: "null" } },
  { type: "object", properties: { a: {}, b: { const: 0 } }, additionalProperties: false },
  { type: "object", additionalProperties: { type: "number" }, minProperties: 1 },
  { type: "string", format: "date", pattern: "^2024", not: { const: "2024-01-01" } },
  { type: "string", pattern: "^(?!.*bb)(?=.*c)[a-c]+$", minLength: 3, maxLength: 8 },
  { type: "number", minimum: -1, maximum: 1, multipleOf: 0.05 },
  { type: "array", items: { type: "integer", minimum: 8 }, uniqueItems: true, minItems: 2 },
  { type: "array", items: { enum: ["a", "b", "ab"] }, uniqueItems: true, minItems: 3 },
  { type: "array", items: { type: ["string", "number"] }, uniqueItems: true, maxItems: 4 },
  { type: "array", items: { type: "string" }, contains: { const: "x" } },
  { type: "object", patternProperties: { "^a": { type: "null" } }, additionalProperties: true },
  {
    type: "object",
    required: MANY,
    properties: Object.fromEntries(MANY.map((name) => [name, {}])),
  },
];

const scratch = createScratch();
afterAll(() => scratch.remove());

/** As a question has it. */
function formOf(schema: JsonSchema): [string, number] {
  const grammar = createExpressions();
  constraintGrammar(grammar, { schema });
  return [stringifyJson({ schema })!, grammar.count()];
}

/** A text that a schema allows, or its beginning, and what may follow at each of its places. */
function walk(schema: JsonSchema, seed: number) {
  const grammar = createExpressions();
  const random = createRandom(seed, "test");
  let place = constraintGrammar(grammar, { schema });
  const text: number[] = [];
  const places: [bytes: number[], isWhole: boolean][] = [];
  for (;;) {
    grammar.beginPart();
    const bytes = Array.from({ length: 256 }, (_, byte) => byte).filter(
      (byte) => grammar.derivative(place, byte) !== grammar.none,
    );
    places.push([bytes, place.isNullable]);
    if (bytes.length === 0 || text.length === LONGEST) break;
    const byte = bytes[Math.floor(random.uniform() * bytes.length)]!;
    text.push(byte);
    place = grammar.derivative(place, byte);
  }
  return { form: formOf(schema), text: text.map(latin1).join(""), places };
}

function latin1(byte: number): string {
  return String.fromCharCode(byte);
}

function inPython(walks: { form: [string, number]; text: string }[]): unknown[] {
  const path = scratch.file("walks.json", JSON.stringify(walks));
  const printed = execFileSync(PYTHON, ["-B", PROGRAM, ENGINE_FOLDER, path], {
    maxBuffer: 2 ** 28,
  });
  return JSON.parse(printed.toString()) as unknown[];
}

it.runIf(hasPython)("Python follows a schema's grammar byte by byte as TypeScript does", () => {
  const walks = SCHEMAS.flatMap((schema) => [1, 2, 3, 4].map((seed) => walk(schema, seed)));
  const found = inPython(walks);
  walks.forEach(({ form, text, places }, i) => {
    expect(found[i], `${form[0]} after ${JSON.stringify(text)}`).toEqual(places);
  });
});

it.runIf(hasPython)("what takes too long to follow is refused", () => {
  const wide = { type: "string", pattern: "^(?:a|b)*a(?:a|b){4000}$" };
  const random = createRandom(1, "test");
  const letters = Array.from({ length: 4_000 }, () => (random.uniform() < 0.5 ? "a" : "b")).join(
    "",
  );
  expect(inPython([{ form: formOf(wide), text: `"${letters}` }])).toEqual([
    expect.stringMatching(/^The schema is too complex: /),
  ]);
});
