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
    {
      ...{ $id: "https://example.com/s", type: "array", items: { $ref: "#x" } },
      $defs: { x: { $anchor: "x", type: "integer", maximum: 0 } },
    },
    {
      $defs: {
        inner: {
          ...{ $id: "inner", type: "array", items: { $ref: "#/$defs/n" } },
          $defs: { n: { type: "null" } },
        },
        n: { type: "string" },
      },
      ...needed({ a: { $ref: "inner" }, b: { $ref: "#/$defs/n" } }),
    },
    {
      ...{ type: "object", properties: { a: { $ref: "#" } }, additionalProperties: false },
      allOf: [{ properties: { a: { properties: { a: { type: "object" } } } } }],
    },
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
    { oneOf: [{ type: "integer" }, { minimum: 2 }] },
    {
      oneOf: [
        { type: "string", maxLength: 3 },
        { type: "string", minLength: 2 },
      ],
    },
    {
      ...{ type: "object", properties: { a: { type: "null" }, b: { type: "null" } } },
      oneOf: [{ required: ["a"] }, { required: ["b"] }],
    },
    {
      discriminator: { propertyName: "k" },
      oneOf: ["a", "b"].map((k) => needed({ k: { const: k, type: "string" } })),
    },
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
  minLength: [
    { type: "string", minLength: 3 },
    { type: "string", minLength: 3, maxLength: 9, pattern: "^\\w+\\s?\\w*$" },
    { type: "string", minLength: 12, maxLength: 20, format: "uri" },
    { enum: ["a", "ab", "abc"], minLength: 2 },
  ],
  maxLength: [
    { type: "string", maxLength: 3 },
    { type: "string", minLength: 2, maxLength: 2 },
    { type: "string", maxLength: 0 },
  ],
  pattern: [
    ...["^[a-c]{2,3}x?$", "ab", "^\\d+$", "^\\w+@\\w+\\.com$", "^.{2}$", "^\\S\\s$", "^(foo|bar)$"],
    ...["^a|b$", '^"a\\\\b$', "^[^a]$", "^a+?$", "^\\u0041\\x42$", "^(?<a>x)$", "^[\\d\\-x]*$"],
    ...[
      "^(?:a|b(?:c|d){2})*$",
      "^\\u{1F30A}\\ud83c\\udf0a$",
      "",
      "^$",
      "^[\\s\\S]{3}$",
      "^\\W{2}\\D$",
    ],
    ...["^(?=.*\\d)(?!.*aa)[a\\d]{3,5}$", "^x(?:(?!y)[x-z])?$", "^\\p{Lu}\\P{L}[^\\p{L}]$"],
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
  ]
    .map((format): JsonSchema => ({ type: "string", format }))
    .concat(
      ...[
        ...["time", "iso-time", "date-time", "iso-date-time", "duration", "email", "hostname"],
        ...["ipv6", "uri", "url", "uri-reference", "uri-template", "uuid", "json-pointer"],
        ...["relative-json-pointer", "regex", "byte"],
      ].map((format) => ({ type: "string", format, pattern: "^.{3,60}$" })),
    ),
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
    { type: "integer", multipleOf: 7, minimum: -20, maximum: 1000 },
    { type: "integer", multipleOf: 365, minimum: 0, maximum: 2 ** 31 },
    { type: "integer", multipleOf: 3600, minimum: 0, maximum: 2 ** 40 },
    { type: "number", multipleOf: 0.5, minimum: -4, exclusiveMaximum: 4 },
    { type: "integer", multipleOf: 2.5, minimum: -99, maximum: 1e6 },
    { type: "number", allOf: [{ multipleOf: 4 }, { multipleOf: 6 }], minimum: 0, maximum: 1e9 },
    { type: "number", multipleOf: 2, not: { const: 0 }, minimum: -6, maximum: 6 },
  ],
  uniqueItems: [
    { type: "array", items: { type: "null" }, uniqueItems: false },
    { type: "array", items: { type: "integer", minimum: 0, maximum: 12 }, uniqueItems: true },
    { type: "array", items: { type: "number" }, uniqueItems: true, minItems: 2 },
    { type: "array", items: { maxLength: 2, type: "string" }, uniqueItems: true, maxItems: 5 },
    { type: "array", items: { enum: ["a", "b", "ab"] }, uniqueItems: true, minItems: 2 },
    { type: "array", items: { type: "boolean" }, uniqueItems: true },
    { type: "array", uniqueItems: true },
    {
      ...{ type: "array", uniqueItems: true },
      items: { type: "array", prefixItems: [{ type: "boolean" }, { type: "number" }] },
    },
    {
      ...{ type: "array", uniqueItems: true, minItems: 2 },
      items: { type: "object", additionalProperties: { type: "boolean" }, required: ["a"] },
    },
    {
      prefixItems: [{ type: "boolean" }, { enum: [true, 1] }],
      items: { const: 2 },
      uniqueItems: true,
    },
  ],
  minProperties: [
    { type: "object", additionalProperties: { type: "null" }, minProperties: 1 },
    {
      properties: { a: { type: "null" }, b: { type: "null" }, c: { type: "null" } },
      minProperties: 2,
    },
  ],
  maxProperties: [
    { properties: { a: { type: "null" }, b: { type: "null" } }, maxProperties: 1 },
    { type: "object", additionalProperties: { type: "null" }, maxProperties: 2 },
    {
      ...needed({ a: { type: "null" } }),
      additionalProperties: { type: "null" },
      maxProperties: 2,
    },
  ],
  patternProperties: [
    { patternProperties: { "^a": { type: "null" }, b$: { type: "boolean" } } },
    {
      properties: { ab: { type: ["null", "boolean"] } },
      patternProperties: { "^a": { type: "null" }, "^b": { type: "boolean" } },
      additionalProperties: { type: "integer" },
    },
    {
      patternProperties: { "^S_": { type: "string" } },
      additionalProperties: false,
      minProperties: 1,
    },
  ],
  contains: [
    { type: "array", items: { type: ["integer", "null"] }, contains: { type: "null" } },
    { type: "array", contains: { const: "x" }, minItems: 2, maxItems: 3 },
    {
      type: "array",
      prefixItems: [{ type: "boolean" }],
      contains: { type: "string" },
      items: true,
    },
  ],
  minContains: [
    { type: "array", items: { type: "integer" }, contains: { minimum: 5 }, minContains: 2 },
    { type: "array", contains: { type: "null" }, minContains: 0 },
  ],
  maxContains: [
    { type: "array", items: { enum: [1, 2] }, contains: { const: 2 }, maxContains: 1 },
    {
      type: "array",
      items: { enum: [1, 2] },
      contains: { const: 2 },
      minContains: 0,
      maxContains: 0,
    },
  ],
  not: [
    { type: "string", not: { enum: ["a", "b"] }, maxLength: 1 },
    { type: ["integer", "null"], not: { type: "null" } },
    { type: "integer", not: { minimum: 3 } },
    { type: "number", not: { enum: [0, 1.5, -2] } },
    { type: "string", not: { pattern: "^a" } },
    { not: { type: ["object", "array", "string"] } },
    { not: { anyOf: [{ type: "string" }, { required: ["a"] }] } },
    { properties: { a: { type: "integer" }, b: { type: "null" } }, not: { required: ["a", "b"] } },
    { type: "boolean", not: { const: true } },
    { not: { not: { type: "integer" } } },
    { type: "array", items: { type: "integer" }, not: { contains: { const: 1 } } },
    { type: "array", items: { type: ["integer", "null"] }, not: { items: { type: "integer" } } },
  ],
  if: [
    {
      ...needed({ country: { enum: ["US", "CA"] }, zip: { type: "string" } }),
      if: { properties: { country: { const: "US" } } },
      then: { properties: { zip: { pattern: "^[0-9]{5}$" } } },
      else: { properties: { zip: { pattern: "^[A-Z]$" } } },
    },
    { type: "integer", maximum: 1e6, if: { minimum: 10 }, then: { multipleOf: 10 } },
  ],
  then: [{ then: { type: "null" }, type: "integer" }],
  else: [{ type: "integer", if: { const: 1 }, else: { maximum: 0 } }],
  dependentRequired: [
    {
      ...{ type: "object", properties: { name: { type: "null" }, card: {}, billing: {} } },
      ...{ required: ["name"], dependentRequired: { card: ["billing"] } },
    },
  ],
  dependentSchemas: [
    {
      ...{ type: "object", properties: { a: { type: "integer" }, b: { type: "null" } } },
      dependentSchemas: { b: { properties: { a: { minimum: 5 } }, required: ["a"] } },
    },
  ],
  $dynamicRef: [
    {
      ...{ $dynamicAnchor: "node", type: "object", required: ["v"], additionalProperties: false },
      properties: { v: { type: "integer" }, next: { $dynamicRef: "#node" } },
    },
  ],
};
