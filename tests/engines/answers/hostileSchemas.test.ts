import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createAnswerFormats } from "../../../engines/answers/answerFormat.ts";
import { createConstraints } from "../../../engines/answers/grammar/constraint.ts";
import {
  type Expressions,
  createExpressions,
} from "../../../engines/answers/grammar/expressions.ts";
import { schemaGrammar } from "../../../engines/answers/grammar/schemaGrammar.ts";
import { callGrammar } from "../../../engines/answers/tools/callGrammar.ts";
import { createRandom } from "../../../engines/dataset/random.ts";
import { BYTE_TOKENIZER } from "../../../engines/tokens/byteTokenizer.ts";
import type { Tool } from "../../../protocol/chat.ts";
import { problemOfTools } from "../../../protocol/chatFaults.ts";
import { isKitError } from "../../../protocol/error.ts";
import type { JsonSchema } from "../../../protocol/infer.ts";

/** Calls of a grammar's expressions, at most. */
const MAX_STEPS = 300_000;
const many = <T>(count: number, make: (i: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i));
const IDS = many(264, (id) => id);
const deep = (levels: number) =>
  many(levels, (i) => i).reduce<JsonSchema>((items) => ({ type: "array", items }), {});
const pattern = (source: string) => ({ type: "string", pattern: source });
/** Characters of which no two touch. */
const apart = (first: number, count: number) =>
  many(count, (i) => String.fromCodePoint(first + 2 * i)).join("");
const pair = (name: string) => ({
  ...{ type: "object", required: ["a", "b"] },
  properties: { a: { $ref: `#/$defs/${name}` }, b: { $ref: `#/$defs/${name}` } },
});

const byLevel = (levels: number, make: (derivative: string) => JsonSchema, last: JsonSchema) => ({
  ...Object.fromEntries(many(levels, (i) => [`d${i}`, make(`#/$defs/d${i + 1}`)])),
  [`d${levels}`]: last,
});
const TWICE = [{ $ref: "#/$defs/d0" }, { $ref: "#/$defs/d0" }];

/** Schemas that ask for much work or memory, of which some are refused and others held to all the same. */
const HOSTILE: Record<string, JsonSchema> = {
  "10,000 enums": { enum: many(10_000, (i) => `value number ${i * 7919}`) },
  "enums of 250,000 characters": { enum: many(250, (i) => `${i}${"x".repeat(990)}`) },
  "repetitions in repetitions": pattern("^(((a{1,1000}){1,1000}){1,1000}){1,1000}$"),
  "alternatives that are the same": pattern("^((a|a|aa)*(a|a)*)*b$"),
  "a state for each of 2^40 beginnings": pattern("^(.*a.{40}|.*b.{41}|.*c.{42})$"),
  "what backtracks for ever": pattern("^(x+x+)+y$"),
  "500 patterns at once": { anyOf: many(500, (i) => pattern(`^.{${i}}x.*y`)) },
  "a minLength of a billion": { type: "string", minLength: 1e9, maxLength: 2 ** 53 - 1 },
  "a minItems of a billion": {
    type: "array",
    items: { maxLength: 1e9, type: "string" },
    minItems: 1e9,
  },
  "5,000 properties that may be left out": {
    ...{ type: "object", properties: Object.fromEntries(many(5000, (i) => [`p${i}`, {}])) },
  },
  "2^60 objects by $ref": {
    $defs: {
      ...Object.fromEntries(many(60, (i) => [`d${i}`, pair(`d${i + 1}`)])),
      d60: { type: "null" },
    },
    $ref: "#/$defs/d0",
  },
  "2^60 alternatives by $ref": {
    $defs: {
      ...Object.fromEntries(
        many(60, (i) => [
          `d${i}`,
          {
            anyOf: [
              { $ref: `#/$defs/d${i + 1}`, minimum: i },
              { $ref: `#/$defs/d${i + 1}`, maximum: i },
            ],
          },
        ]),
      ),
      d60: { type: "integer" },
    },
    $ref: "#/$defs/d0",
  },
  "allOf that joins itself": { allOf: [{ $ref: "#" }, { type: "object" }] },
  "a $ref to itself": { $ref: "#" },
  "two $refs in a circle": {
    $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { anyOf: [{ $ref: "#/$defs/a" }] } },
    $ref: "#/$defs/a",
  },
  "oneOf in a circle": { oneOf: [{ $ref: "#" }, { $ref: "#" }] },
  "oneOf that compares 2^40 properties": {
    $defs: byLevel(
      40,
      (derivative) => ({
        ...{ type: "object", properties: { a: { $ref: derivative }, b: { $ref: derivative } } },
        required: ["a", "b"],
      }),
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
    ),
    oneOf: TWICE,
  },
  "allOf that joins 2^40 schemas": {
    $defs: byLevel(40, (derivative) => ({ allOf: [{ $ref: derivative }, { $ref: derivative }] }), {
      type: "null",
    }),
    allOf: TWICE,
  },
  "20,000 characters that are not to be": pattern(`^[^${apart(0x3000, 20_000)}]$`),
  "60,000 characters": pattern(`^${"ab".repeat(30_000)}$`),
  "allOf of two enums of 9,000": {
    allOf: [{ enum: many(9000, (i) => i) }, { enum: many(9000, (i) => i + 8999) }],
  },
  "oneOf of 9,000 consts": { oneOf: many(9000, (i) => ({ const: i })) },
  "oneOf of 9,000 objects": {
    oneOf: many(9000, (i) => ({ properties: { k: { const: i } }, required: ["k"] })),
  },
  "600 names that begin alike": {
    properties: Object.fromEntries(many(600, (i) => ["x".repeat(i + 1), { type: "null" }])),
    ...{ type: "object", additionalProperties: true },
  },
  "9,000 names that are needed": { type: "object", required: many(9000, (i) => `k${i}`) },
  "600 names that are needed": { type: "object", required: many(600, (i) => `k${i}`) },
  "9,000 places": { type: "array", prefixItems: many(9000, () => ({ type: "null" })) },
  "2,000 groups that may be left out": pattern(`^${"(?:ab)?".repeat(2000)}$`),
  "2,400 characters": pattern(`^${"ab".repeat(1200)}$`),
  "oneOf of two recursive objects": {
    $defs: { d0: { type: "object", properties: { a: TWICE[0] }, required: ["a"] } },
    oneOf: TWICE,
  },
  "2^20 alternatives of ten conditions": {
    type: "object",
    allOf: many(20, (i) => ({ if: { required: [`a${i}`] }, then: { required: [`b${i}`] } })),
  },
  "2^20 alternatives that exclude others": {
    oneOf: many(20, (i) => ({ required: [`a${i}`, `b${i}`] })),
  },
  "a list of 900 different enums": {
    ...{ type: "array", uniqueItems: true, minItems: 900 },
    items: { enum: many(950, (i) => `value ${i}`) },
  },
  "patterns that agree after 2^20 steps": {
    allOf: [31, 29, 27, 25].map((length) => pattern(`^(a{${length}})+$`)),
  },
  "patterns that never agree": {
    allOf: [pattern("^(.*a.{30}b)$"), pattern("^(.*b.{29}a.)$"), pattern("^[^c]{900}$")],
  },
  "multiples of four primes": {
    type: "integer",
    allOf: [{ multipleOf: 397 }, { multipleOf: 389 }, { multipleOf: 383 }, { multipleOf: 379 }],
  },
  "lookaheads in a row": pattern(`^${"(?=.*a)(?!.*b.{9})".repeat(30)}.{5,}$`),
  "properties of Unicode": pattern(many(50, (i) => `\\p{L}{${i}}\\P{Lu}`).join("")),
  "60 levels": deep(60),
  "100 levels": deep(100),
  "100,000 levels": deep(100_000),
  "groups in groups": pattern(`^${"(".repeat(50_000)}a${")".repeat(50_000)}$`),
  "a name that is __proto__": JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"null"}},"required":["__proto__"]}',
  ) as JsonSchema,
};

const CIRCLE = { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { anyOf: [{ $ref: "#/$defs/a" }] } };
const behindRef = (schema: JsonSchema) => ({
  ...{ type: "array", items: { $ref: "#/$defs/a" } },
  $defs: { a: { type: "array", items: { $ref: "#/$defs/b" } }, b: schema },
});

test.each(Object.entries(HOSTILE))(
  "%s: an answer is held to it, or it is refused, within bounded work",
  (_, schema) => {
    const { create } = createConstraints(BYTE_TOKENIZER);
    const random = createRandom(1);
    try {
      let steps = 0;
      const grammar = counted(createExpressions(), () => steps++);
      const answers = compiled(() => schemaGrammar(grammar, schema));
      expect(steps).toBeLessThan(MAX_STEPS);
      if (!answers) return;
      const constraint = create({ schema });
      for (let n = 0; n < 300; n++) {
        const mask = constraint.allowed();
        const all = IDS.filter((id) => ((mask[id >>> 5]! >>> (id & 31)) & 1) === 1);
        if (all.length === 0) throw new Error("Nothing may follow.");
        const token = all[Math.floor(random.uniform() * all.length)]!;
        if (BYTE_TOKENIZER.isStopToken(token)) return;
        constraint.accept(token);
      }
    } catch (error) {
      if (!isKitError(error)) throw error;
      expect(error.code).toBe("REQUEST_INVALID");
    }
  },
);

/** Expressions that tell of each call. */
function counted(grammar: Expressions, onCall: () => void): Expressions {
  const entries = Object.entries(grammar).map(([name, value]: [string, unknown]) => {
    const call = value as (...args: unknown[]) => unknown;
    return [
      name,
      typeof value === "function" ? (...args: unknown[]) => (onCall(), call(...args)) : value,
    ];
  });
  return Object.fromEntries(entries) as Expressions;
}

/** Undefined for what is refused. */
function compiled<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!isKitError(error)) throw error;
    expect(error.code).toBe("REQUEST_INVALID");
    return undefined;
  }
}

test.each<[RegExp, JsonSchema]>([
  [/refers directly to itself/, { $ref: "#" }],
  [/refers directly to itself/, { type: "array", items: { $ref: "#/$defs/a" }, $defs: CIRCLE }],
  [/"not"/, behindRef({ not: { propertyNames: { maxLength: 1 } } })],
  [/"pattern"/, behindRef({ type: "string", pattern: "(?<=a)" })],
  [/"\$ref"/, behindRef({ $ref: "#/$defs/nope" })],
])("what is wrong behind a $ref is found before the first token: %s in %j", (found, schema) => {
  expect(() => createConstraints(BYTE_TOKENIZER).create({ schema })).toThrow(found);
});

test("a circle in a schema's objects is refused", () => {
  const schema: Record<string, unknown> = { type: "array" };
  schema["items"] = schema;
  expect(() => createConstraints(BYTE_TOKENIZER).create({ schema })).toThrow(/contains itself/);
});

const REFUSED: [string, JsonSchema][] = [
  ["requird", { type: "object", requird: ["a"] }],
  ["not", { not: { propertyNames: { maxLength: 1 } } }],
  ["not", { type: "array", not: { const: [1] } }],
  ["not", { type: "object", not: { enum: [{}] } }],
  ["not", { oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] }],
  ["multipleOf", { type: "number", multipleOf: 0 }],
  ["multipleOf", { type: "number", multipleOf: 0.123456789 }],
  ["multipleOf", { type: "integer", multipleOf: 4096 }],
  ["patternProperties", { patternProperties: Object.fromEntries(many(7, (i) => [`${i}`, {}])) }],
  ["patternProperties", { patternProperties: [] }],
  ["$ref", { $ref: "https://example.com/x" }],
  ["$ref", { $ref: "#/$defs/nope" }],
  ["$ref", { $ref: "#nope" }],
  ["$ref", { $dynamicRef: 1 }],
  [
    "$dynamicRef",
    {
      ...{ $dynamicRef: "#a", $defs: { a: { $dynamicAnchor: "a" } } },
      properties: { b: { $id: "b", $dynamicAnchor: "a" } },
    },
  ],
  ["minProperties", { type: "object", minProperties: 2 }],
  ["minContains", { contains: {}, minContains: -1 }],
  ["dependentRequired", { dependentRequired: 1 }],
  ["enum", { enum: [Infinity] }],
  ["const", { not: { const: Infinity } }],
  ["maxLength", { type: "string", maxLength: Infinity }],
  ["maxContains", { contains: {}, maxContains: Infinity }],
  ["uniqueItems", { items: { type: "integer" }, uniqueItems: true, minItems: 2000 }],
  ["uniqueItems", { items: { minLength: 300, type: "string" }, uniqueItems: true, minItems: 2 }],
  ["not", { type: "integer", not: { type: "integer", multipleOf: 2 } }],
  ["maximum", { type: "number", maximum: -1e101 }],
  ["minimum", { type: "integer", minimum: 1e101 }],
  ["type", { type: "date" }],
  ...["^(?<=a)a$", "^((?=a)a)*$", "^(a)\\1$", "\\bfoo", "^\\p{X}$", "a^b", "(", "^(?i:a)$"].map(
    (source): [string, JsonSchema] => ["pattern", pattern(source)],
  ),
];

test.each(REFUSED)(
  "what an answer is not held to is refused by its name: %s in %j",
  (name, schema) => {
    const begin = () => createConstraints(BYTE_TOKENIZER).create({ schema });
    expect(begin).toThrow(new RegExp(`^Kit can't enforce .*"${name.replace("$", "\\$")}"`));
  },
);

test.each([
  { type: "integer", minimum: 5, maximum: 4 },
  { enum: [] },
  { type: "string", enum: [1] },
  { allOf: [{ type: "string" }, { type: "null" }] },
  { required: ["a"], propertyNames: { type: "integer" } },
  { allOf: [{ properties: { a: {} }, unevaluatedProperties: false }, { required: ["b"] }] },
  { type: "string", pattern: "^a{3}$", maxLength: 2 },
  { type: "string", format: "date", pattern: "^[a-z]" },
  { type: "integer", minimum: 1, maximum: 4, multipleOf: 5 },
  { type: "array", items: { enum: ["a", 1] }, uniqueItems: true, minItems: 3 },
  { type: "array", items: { type: "null" }, contains: { type: "string" } },
  { not: {} },
  false,
])("a schema that allows nothing is refused: %j", (schema) => {
  expect(() => createConstraints(BYTE_TOKENIZER).create({ schema })).toThrow(/allows no answer/);
});

test.each<[JsonSchema, string]>([
  [{ format: "uuid", maxLength: 5 }, '"format" "uuid" and "maxLength" 5'],
  [{ const: "x", format: "date" }, '"const" "x" and "format" "date"'],
  [{ pattern: "^🌊$", maxLength: 1 }, '"pattern" "^🌊$" and "maxLength" 1'],
])("what no text has together is named: %j", (schema, names) => {
  const begin = () => createConstraints(BYTE_TOKENIZER).create({ schema });
  expect(begin).toThrow(`The schema allows no answer: there is no text with ${names}. `);
});

test("what is found of a schema serves the next request, until larger ones take its place", () => {
  const { create } = createConstraints(BYTE_TOKENIZER);
  const ask = (schema: JsonSchema) => create({ schema }).allowed();
  const first = ask({ type: "string" });
  for (let i = 0; i < 100; i++) ask({ type: "string", maxLength: i });
  expect(ask({ type: "string" })).toBe(first);
  const long = "x".repeat(250_000);
  for (let i = 0; i < 300; i++) ask({ const: i, description: long });
  expect(ask({ type: "string" })).not.toBe(first);
});

test.each([
  "^x0((((a{0,99}){0,99}){0,99}){0,90})*$",
  "^x0(((a{1,99}){1,99}){1,99})+$",
  "^x0(((a?){0,99}){0,999})*$",
  "^x0((a{0,99}|a{0,98}|aa{0,97}){0,99}){0,99}$",
])("an answer to repetitions in repetitions costs little before it is refused: %s", (source) => {
  const grammar = createExpressions();
  const follow = () => {
    let left = schemaGrammar(grammar, pattern(source));
    for (const byte of Buffer.from(`"x0${"a".repeat(2_000)}`)) {
      grammar.beginPart();
      left.limitedTo(16);
      left = grammar.derivative(left, byte);
    }
  };
  expect(follow).toThrow(
    /is too complex: it allows too many combinations\. Use fewer or simpler patterns/,
  );
  expect(grammar.count()).toBeLessThan(60_000);
});

test.each<[string, JsonSchema, number]>([
  ["lookaheads", pattern("^(?=.*a[ab]{9}b)(?=.*b[ab]{9}a)(?=.*aa[ab]{7}aa).{12}$"), 15_000],
  ["a class of 40,000 characters", pattern(`^[^${apart(0x10000, 40_000)}]$`), 100],
  [
    "oneOf of 300 objects",
    { oneOf: many(300, (i) => ({ type: "object", properties: { [`p${i}`]: { minimum: 0 } } })) },
    100,
  ],
])("what takes too long is refused before much is made of it: %s", (_, schema, most) => {
  const grammar = createExpressions();
  expect(() => schemaGrammar(grammar, schema)).toThrow(/is too complex/);
  expect(grammar.count()).toBeLessThan(most);
});

test.each([
  "^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[^A-Za-z0-9]).{8,64}$",
  "^(?=.*a1)(?=.*b2)(?=.*c3)(?=.*d4)(?=.*e5)(?=.*f6)(?=.*g).{20,400}$",
  "^(?!.*aa)(?!.*bb)(?=.*c)(?!.*dd)(?=.*e5)(?=.*f6)(?!.*gg).{20,400}$",
])("lookaheads are followed with little work: %s", (source) => {
  const grammar = createExpressions();
  schemaGrammar(grammar, pattern(source));
  expect(grammar.count()).toBeLessThan(2_000);
});

test.each<[steps: number, make: (i: number) => JsonSchema]>([
  [1, (i) => pattern(`^(?=.*a${i})(?=.*b).{20}$`)],
  [12, (i) => ({ title: i, ...(HOSTILE["patterns that never agree"] as object) })],
])(
  "schemas that are asked for at once let others take %d steps or more between two",
  async (steps, make) => {
    const formatOf = createAnswerFormats(BYTE_TOKENIZER);
    const events: string[] = [];
    const asked = many(5, async (i) => {
      await formatOf({ prompt: "x", schema: make(i) }).catch(() => {});
      events.push("grammar");
    });
    const all = Promise.all(asked).then(() => (isOver = true));
    let isOver = false;
    while (!isOver) {
      events.push("step");
      await setImmediate();
    }
    await all;
    expect(events.filter((one) => one === "grammar")).toHaveLength(5);
    const between = events.join("").split("grammar").slice(1, -1);
    expect(between.every((some) => some.length >= "step".length * steps)).toBe(true);
  },
);

test("what is not allowed of a member of oneOf is found once", () => {
  let reads = 0;
  const member = (i: number) => ({
    get minimum() {
      reads++;
      return i;
    },
  });
  try {
    schemaGrammar(createExpressions(), { oneOf: many(100, member) });
  } catch (error) {
    if (!isKitError(error)) throw error;
  }
  expect(reads).toBeLessThan(2_000);
});

test("300 patterns of a length each make what a character is once", () => {
  const grammar = createExpressions();
  let count = 0;
  const encoded = (content: string) => (count++, grammar.encoded(content));
  const lengths = many(300, (i) => [`p${i}`, pattern(`^[a-z]{${i},${i + 40}}$`)]);
  schemaGrammar({ ...grammar, encoded }, { properties: Object.fromEntries(lengths) });
  expect(count).toBeLessThan(2_000);
});

const toolOf = (parameters: unknown) =>
  ({ type: "function", function: { name: "f", parameters } }) as Tool;

test.each([{ type: "string" }, { type: ["null", "string"] }, ["a"], "x"])(
  "a tool whose parameters are no object's is refused: %j",
  (parameters) => {
    const format = {
      begin: "<",
      separator: undefined,
      end: ">",
      delimiters: ["", "(", ")"],
    } as const;
    const make = () => callGrammar(createExpressions(), format as never, [toolOf(parameters)]);
    expect(make).toThrow(/^tools\[0\]: "parameters" must be a JSON Schema/);
  },
);

test("a request's tool has parameters that are an object, or none", () => {
  const problemOf = (parameters: unknown) => problemOfTools({ tools: [toolOf(parameters)] });
  expect([undefined, null, {}].map(problemOf)).toEqual([undefined, undefined, undefined]);
  expect(["x", ["a"], 1].map(problemOf)).toEqual(
    Array.from({ length: 3 }, () => expect.stringMatching(/^tools\[0\] is not/) as string),
  );
});

test("a long constant takes memory by its length, however much of it is answered", () => {
  const { text, derivative } = createExpressions();
  const content = " ".repeat(250_000);
  const before = process.memoryUsage().heapUsed;
  let rest = text(content);
  for (let i = 0; i < 8_000; i++) rest = derivative(rest, 32);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(100e6);
  expect(derivative(rest, 33).isNullable).toBe(false);
});

test("what may follow is found in slices, as is a large vocabulary", () => {
  const letters = many(40_000, (i) => Buffer.from(`${i.toString(36)}`));
  const large = {
    ...BYTE_TOKENIZER,
    vocabulary: 264 + letters.length,
    isTextToken: (id: number) => id >= 264 || BYTE_TOKENIZER.isTextToken(id),
    isStopToken: (id: number) => id < 264 && BYTE_TOKENIZER.isStopToken(id),
    bytesOf: (id: number) => letters[id - 264] ?? BYTE_TOKENIZER.bytesOf(id),
  };
  const { create } = createConstraints(large);
  const slices = (schema: JsonSchema) => {
    const constraint = create({ schema });
    let count = 1;
    while (!constraint.prepare(0)) count++;
    expect(constraint.allowed()).toEqual(create({ schema }).allowed());
    return count;
  };
  expect(slices({ type: "string", pattern: "^a" })).toBeGreaterThan(20);
  expect(slices({ enum: ["a"] })).toBeLessThan(4);
});

test.each([2_500, 9_000])("%d properties are refused before they are read", (count) => {
  const grammar = createExpressions();
  const properties = Object.fromEntries(
    many(count, (i) => [`p${i}`, { type: "string", format: "uri" }]),
  );
  const read = () => schemaGrammar(grammar, { properties });
  expect(read).toThrow(/too many properties/);
  expect(grammar.count()).toBeLessThan(500);
});

test.each([
  [10, true],
  [20, false],
])("after %d parts, whether another answer may follow the grammar is %s", (parts, isFresh) => {
  const grammar = createExpressions();
  for (let i = 0; i < parts; i++) {
    grammar.beginPart();
    grammar.spendSteps(90_000);
  }
  expect(grammar.hasBudget()).toBe(isFresh);
});
