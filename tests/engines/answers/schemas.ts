import type { JsonSchema } from "../../../protocol/infer.ts";

const needed = (properties: Record<string, unknown>) => ({
  ...{ type: "object", properties, required: Object.keys(properties) },
  additionalProperties: false,
});
const TREE = needed({
  v: { type: "boolean" },
  n: { anyOf: [{ $ref: "#/$defs/t" }, { type: "null" }] },
});

/** For each keyword that is honoured, schemas that have it. */
export const HELD: Record<string, JsonSchema[]> = {
  type: [
    ...["string", "integer", "number", "boolean", "null", "array", "object"].map((type) => ({
      type,
    })),
    { type: ["string", "null"] },
    { type: ["integer", "boolean"], minimum: 3 },
    {},
    true,
  ],
  enum: [
    { enum: ["a", 1, null, { b: [1] }, 'é\n"', ""] },
    { type: "string", enum: ["x", 3, "xy", "x\\"] },
    { enum: ["a", "b"], const: "b" },
    { enum: ["a", "b", 1], pattern: "^b$" },
    { enum: ["2024-02-30", "2024-02-29"], format: "date" },
    { enum: [{ a: 1, b: 2 }, 1], const: { b: 2, a: 1 } },
  ],
  const: [{ const: { a: 1 } }, { type: "string", const: "x" }, { const: null }],
  $ref: [
    { $defs: { x: { type: "boolean" } }, type: "array", items: { $ref: "#/$defs/x" } },
    { $defs: { t: TREE }, $ref: "#/$defs/t" },
    needed({ a: { anyOf: [{ $ref: "#" }, { type: "null" }] } }),
    { definitions: { "a/b~c d": { type: "null" } }, $ref: "#/definitions/a~1b~0c%20d" },
    { $defs: { x: { type: "integer" } }, $ref: "#/$defs/x", minimum: 3 },
    { $id: "https://example.com/s", $defs: { x: { type: "boolean" } }, $ref: "#/$defs/x" },
  ],
  allOf: [
    {
      allOf: [
        { type: "integer", minimum: 3 },
        { type: "number", maximum: 5 },
      ],
    },
    { allOf: [needed({ a: { type: "null" } }), { properties: { a: { const: null } } }] },
    {
      allOf: [
        { type: "object", properties: { a: { type: "null" } }, required: ["a"] },
        { type: "object", properties: { b: { type: "boolean" } }, required: ["b"] },
      ],
    },
    {
      $defs: { x: { minLength: 2 } },
      type: "string",
      maxLength: 3,
      allOf: [{ $ref: "#/$defs/x" }],
    },
  ],
  anyOf: [
    { anyOf: [{ type: "boolean" }, { type: "null" }] },
    { type: "integer", anyOf: [{ minimum: 3 }, { maximum: 1 }] },
    {
      ...{ type: "object", properties: { a: { type: "null" } }, required: ["a"] },
      anyOf: [{ properties: { b: { type: "null" } } }],
    },
  ],
  oneOf: [
    { oneOf: [{ type: "boolean" }, { type: "null" }] },
    { oneOf: ["a", "b"].map((k) => needed({ k: { const: k }, v: { type: "boolean" } })) },
  ],
  properties: [
    needed({ a: { type: "boolean" }, b: { type: "null" } }),
    { type: "object", properties: { a: { type: "boolean" } } },
    needed({ 'a"\\b\né': { type: "null" }, "": { type: "null" } }),
    { properties: { a: { type: "null" } }, required: ["a"] },
  ],
  required: [
    ...[[], ["a"], ["b"], ["c"], ["a", "c"]].map((required) => ({
      type: "object",
      properties: { a: { type: "boolean" }, b: { type: "null" }, c: { type: "null" } },
      required,
    })),
    { type: "object", properties: { a: { type: "null" } }, required: ["z"] },
  ],
  additionalProperties: [
    { type: "object", additionalProperties: { type: "null" } },
    {
      type: "object",
      properties: { a: { type: "boolean" }, ab: { type: "null" } },
      additionalProperties: { type: "integer" },
    },
    {
      type: "object",
      properties: { a: { type: "boolean" } },
      required: ["a", "z"],
      additionalProperties: true,
    },
    { type: "object", properties: {}, additionalProperties: false },
  ],
  unevaluatedProperties: [
    { ...needed({ a: { type: "null" } }), unevaluatedProperties: false },
    {
      allOf: [{ properties: { a: { type: "null" } } }, { properties: { b: { type: "null" } } }],
      unevaluatedProperties: false,
    },
  ],
  propertyNames: [
    { type: "object", propertyNames: { type: "integer" }, additionalProperties: { type: "null" } },
    {
      ...{ type: "object", propertyNames: { type: ["null", "string"], maxLength: 1 } },
      ...{ additionalProperties: { type: "null" }, minProperties: 1 },
    },
    { type: "object", propertyNames: { pattern: "^a+$" }, additionalProperties: { type: "null" } },
    {
      type: "object",
      propertyNames: { type: "string", maxLength: 2 },
      additionalProperties: { type: "null" },
    },
    {
      ...{
        type: "object",
        propertyNames: { type: "string", enum: ["x", "y"] },
        required: ["x", "y"],
      },
      additionalProperties: { type: "boolean" },
    },
  ],
  items: [
    { type: "array", items: { type: "integer" } },
    { type: "array", items: [{ type: "boolean" }, { type: "null" }] },
    { items: { type: "null" } },
  ],
  prefixItems: [
    { type: "array", prefixItems: [{ type: "boolean" }, { type: "null" }], items: false },
    { type: "array", prefixItems: [{ type: "boolean" }], items: { type: "null" }, minItems: 3 },
    { type: "array", prefixItems: [{ type: "boolean" }, { type: "null" }], maxItems: 1 },
  ],
  additionalItems: [
    { type: "array", items: [{ type: "boolean" }], additionalItems: { type: "null" } },
  ],
  unevaluatedItems: [{ type: "array", prefixItems: [{ type: "null" }], unevaluatedItems: false }],
  minItems: [{ type: "array", items: { type: "boolean" }, minItems: 2 }],
  maxItems: [
    { type: "array", items: { type: "boolean" }, minItems: 2, maxItems: 3 },
    { type: "array", items: { type: "boolean" }, maxItems: 0 },
    { type: "array", maxItems: 2 },
  ],
  minLength: [{ type: "string", minLength: 3 }],
  maxLength: [
    { type: "string", maxLength: 3 },
    { type: "string", minLength: 2, maxLength: 2 },
    { type: "string", maxLength: 0 },
  ],
  pattern: [
    ...["^[a-c]{2,3}x?$", "ab", "^\\d+$", "^\\w+@\\w+\\.com$", "^.{2}$", "^\\S\\s$", "^(foo|bar)$"],
    ...["^foo|bar$", '^"a\\\\b$', "^[^a]$", "^a+?$", "^\\u0041\\x42$", "^(?<a>x)$", "^[\\d\\-x]*$"],
    ...[
      "^(?:a|b(?:c|d){2})*$",
      "^\\u{1F30A}\\ud83c\\udf0a$",
      "",
      "^$",
      "^[\\s\\S]{3}$",
      "^\\W{2}\\D$",
    ],
    ...["^[é-ü🌊]{2}$", "^\\t\\n\\/\\.$", "^a{0}b{2,}$", "x|^y"],
  ].map((pattern) => ({ type: "string", pattern })),
  format: [
    ...[
      "date",
      "time",
      "date-time",
      "duration",
      "email",
      "hostname",
      "ipv4",
      "ipv6",
      "uri",
      "uuid",
    ],
  ].map((format) => ({ type: "string", format })),
  minimum: [
    ...[-30, -5, -1, 0, 1, 9, 10, 1234, 0.5].map((minimum) => ({ type: "integer", minimum })),
    ...[-2.25, -1, 0, 0.001, 1.5, 99.95].map((minimum) => ({ type: "number", minimum })),
    { type: "integer", minimum: -9007199254740991, maximum: 9007199254740991 },
    { type: "integer", minimum: 9007199254740990 },
    { type: "integer", minimum: 1e20 },
  ],
  maximum: [
    ...[-30, -1, 0, 7, 100, 0.5].map((maximum) => ({ type: "integer", maximum })),
    ...[-1.5, 0, 0.1, 3, 1e-7].map((maximum) => ({ type: "number", maximum })),
    { type: "integer", minimum: -30, maximum: 1234 },
    { type: "integer", minimum: 95, maximum: 105 },
    { type: "number", minimum: 1.5, maximum: 2.25 },
    { type: "number", minimum: 1.25, maximum: 1.75 },
    { type: "number", minimum: -0.5, maximum: 0.25 },
    { type: "number", minimum: 0.1, maximum: 0.1 },
    { type: "number", minimum: 0, maximum: 1e300 },
    { type: "number", minimum: 1e15, maximum: 1e16 },
    { type: "number", maximum: -1e21 },
  ],
  exclusiveMinimum: [
    { type: "integer", exclusiveMinimum: 1, exclusiveMaximum: 4 },
    { type: "integer", exclusiveMaximum: -1e15 },
    { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 },
    { type: "number", exclusiveMinimum: -1, maximum: 0 },
    { type: "number", exclusiveMinimum: 0.1, minimum: 0.05 },
  ],
  exclusiveMaximum: [
    { type: "number", minimum: 0.1, exclusiveMaximum: 0.2 },
    { type: "number", exclusiveMaximum: 0 },
    { type: "number", minimum: 999999999999.5, exclusiveMaximum: 1e12 },
    { type: "number", minimum: 999999999999999, exclusiveMaximum: 1e15 },
    { type: "number", exclusiveMinimum: 0.3, exclusiveMaximum: 0.30000000000000016 },
  ],
  multipleOf: [
    { type: "integer", multipleOf: 1 },
    { type: "number", multipleOf: 1 },
  ],
  uniqueItems: [{ type: "array", items: { type: "null" }, uniqueItems: false }],
  minProperties: [{ type: "object", additionalProperties: { type: "null" }, minProperties: 1 }],
};
