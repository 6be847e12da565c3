import { expect, test } from "vitest";
import { createConstraints } from "../../../engines/answers/grammar/constraint.ts";
import { BYTE_TOKENIZER } from "../../../engines/tokens/byteTokenizer.ts";
import type { JsonSchema } from "../../../protocol/infer.ts";
import { parseJson } from "../../../protocol/json.ts";

/** What a model that would write a text by itself writes of it under a schema; "…" for what it cannot end there. */
function written(schema: string, text: string): string {
  const constraint = createConstraints(BYTE_TOKENIZER).create({
    schema: parseJson(schema) as JsonSchema,
  });
  const bytes = Buffer.from(text);
  for (const [i, byte] of bytes.entries()) {
    const mask = constraint.allowed();
    if (((mask[byte >>> 5]! >>> (byte & 31)) & 1) === 0) return bytes.subarray(0, i).toString();
    constraint.accept(byte);
  }
  return constraint.mayEnd() ? text : `${text}…`;
}

const LABELS = Array.from({ length: 4 }, () => "a".repeat(20)).join(".");
const [E100, E101] = ["7".repeat(100), "7".repeat(101)];
/** As pydantic writes models whose tags have defaults. */
const TAGGED = `{"oneOf":[${["a", "b"].map((tag) => `{"type":"object","properties":{"k":{"const":"${tag}","default":"${tag}"},"${tag}":{"type":"integer"}},"required":["${tag}"]}`).join()}],"discriminator":{"propertyName":"k"}}`;
const BYTES = 2n ** 63n;

test.each<[schema: string, texts: string[]]>([
  ['{"type":"integer"}', ["0", "-1", "2512292042121000001", String(-BYTES), E100, `-${E100}`]],
  ["{}", ["2512292042121000001", "0.30000000000000004", "1e-07", "1.7976931348623157e307"]],
  ['{"type":"integer","minimum":0}', ["0", "2512292042121000001", E100]],
  ['{"type":"integer","minimum":-3}', ["-3", "2512292042121000001", E100]],
  ['{"type":"integer","minimum":9007199254740993}', ["9007199254740993", E100]],
  ['{"type":"integer","exclusiveMinimum":9007199254740992}', ["9007199254740993"]],
  ['{"type":"integer","maximum":9223372036854775807}', ["9223372036854775807", "-1", `-${E100}`]],
  ['{"type":"integer","maximum":9223372036854775807.0}', ["9223372036854775808"]],
  ['{"type":"integer","minimum":-9223372036854775808}', ["-9223372036854775808", "-1", E100]],
  ['{"type":"integer","minimum":0.0,"maximum":10.0}', ["0", "10"]],
  ['{"type":"number","minimum":0.0}', ["0.0", "1e22", "0.30000000000000004", E100]],
  ['{"type":"number","minimum":5.5}', ["5.5", "5.50", "123456789012345678.25", E100]],
  ['{"type":"number","maximum":0}', ["-0.0", "0.0", "-1e22", `-${E100}.5`]],
  ['{"type":"number","exclusiveMinimum":0}', ["0.30000000000000004", "0.0000001", "1.0", E100]],
  ['{"type":"number","exclusiveMaximum":1}', ["0.9999999999999999", "0.0", "-1e-7", `-${E100}`]],
  ['{"type":"number","minimum":-1,"exclusiveMaximum":0.0}', ["-1.0", "-0.00000001"]],
  ['{"type":"number","maximum":9223372036854775807}', ["9223372036854775807.0", "-1.5"]],
  ['{"type":"number","exclusiveMaximum":9223372036854775807}', ["9223372036854775806.00"]],
  ['{"type":"number"}', ["1e22", "-0.0", "1E+5", "2.5e-300", `${E100}.${E100}`]],
  ['{"const":2512292042121000001}', ["2512292042121000001"]],
  ['{"type":"integer","format":"int32"}', ["2147483647", "-2147483648"]],
  ['{"type":"integer","format":"int64"}', ["9223372036854775807", "-9223372036854775808"]],
  ['{"type":"integer","format":"uint64","minimum":0}', ["0", "18446744073709551615"]],
  ['{"type":"number","format":"double"}', ["1.5", "2512292042121000001"]],
  ['{"enum":[1.0,1e22,18446744073709551616]}', ["1.0", "1e+22", "18446744073709551616"]],
  ['{"type":"integer","enum":[18446744073709551616,2.5]}', ["18446744073709551616"]],
  ['{"enum":[9007199254740993,1],"const":9007199254740993.0}', []],
  ['{"enum":[1.0,2],"const":1}', ["1.0"]],
  [
    '{"allOf":[{"minimum":9007199254740993},{"minimum":9007199254740992}],"type":"integer"}',
    ["9007199254740993"],
  ],
  [
    '{"properties":{"b":{"type":"null"},"10":{"type":"null"},"2":{"type":"null"}},"required":["2"]}',
    ['{"b":null,"10":null,"2":null}', '{"2":null}'],
  ],
  [
    '{"allOf":[{"properties":{"b":true,"10":true}},{"properties":{"2":true,"b":{"const":1},"a":true}}]}',
    ['{"b":1,"10":1.0,"2":2512292042121000001,"a":1}'],
  ],
  ['{"const":{"b":1.0,"10":[2512292042121000001]}}', ['{"b":1.0,"10":[2512292042121000001]}']],
  ['{"type":"string","format":"date","pattern":"^2024"}', ['"2024-12-06"']],
  [
    '{"type":"string","format":"uri","minLength":1,"maxLength":2083}',
    ['"https://example.com/a?b=c"'],
  ],
  ['{"type":"string","format":"uri","pattern":"^s3://"}', ['"s3://bucket/key"']],
  ['{"type":"string","format":"uri","maxLength":5}', ['"a:b"']],
  ['{"type":"string","format":"hostname","minLength":120}', [`"${LABELS}.${LABELS}"`]],
  ['{"type":"string","format":"email","minLength":120}', [`"${LABELS}@${LABELS}.com"`]],
  ['{"type":"string","format":"ipv6","enum":["::1","x"]}', ['"::1"']],
  ['{"type":"string","format":"ipv6","pattern":"^fe80::"}', ['"fe80::1:192.168.0.1"']],
  ['{"type":"string","format":"ipv6","maxLength":4}', ['"::1"']],
  ['{"type":"string","format":"uri-reference","pattern":"^#"}', ['"#top"']],
  ['{"type":"string","format":"iri","pattern":"é"}', ['"https://é.example/ü?q=ö"']],
  ['{"type":"string","format":"idn-email","pattern":"é"}', ['"josé@example.com"']],
  ['{"type":"string","format":"idn-hostname","const":"bücher.example"}', ['"bücher.example"']],
  ['{"type":"string","format":"time","pattern":":60"}', ['"23:59:60Z"']],
  ['{"type":"string","format":"date-time","pattern":"t"}', ['"1985-04-12t23:20:50.52z"']],
  ['{"propertyNames":{"format":"uri"},"required":["urn:a"]}', ['{"urn:a":1}']],
  ['{"prefixItems":[{"type":"boolean"}],"contains":{"type":"string"}}', ['[true,"x"]']],
  ['{"prefixItems":[{"type":"boolean"}],"minItems":2}', ["[true,1]"]],
  ['{"type":"string","format":"path"}', ['"/any text"']],
  ['{"type":"string","pattern":"^\\\\w+\\\\s?\\\\w*$","maxLength":10}', ['"ab cd_efg1"']],
  ['{"type":"array","items":{"type":"integer"},"uniqueItems":true}', ["[]", "[1,11,2]"]],
  ['{"type":"array","items":{"enum":["a","b"]},"uniqueItems":true}', ['["b","a"]', '["a"]']],
  ['{"type":"array","items":{"type":"string"},"uniqueItems":true}', ['["a,b","a","ab"]']],
  ['{"type":"number","minimum":0,"maximum":1,"multipleOf":0.01}', ["0.07", "1", "0.5", "1.00"]],
  ['{"type":"integer","multipleOf":60}', ["0", "-120", "3600"]],
  [
    '{"oneOf":[{"properties":{"k":{"const":"a"},"n":{"type":"integer"}},"required":["k"]},{"properties":{"k":{"const":"b"}},"required":["k"]}],"discriminator":{"propertyName":"k"}}',
    ['{"k":"a","n":1}', '{"k":"b"}'],
  ],
  [TAGGED, ['{"k":"a","a":1}', '{"k":"b","b":2}']],
  ['{"oneOf":[{"type":"integer"},{"minimum":2}]}', ["1", "-7"]],
  [
    '{"properties":{"c":{"enum":["US","CA"]},"z":{"type":"string"}},"required":["c","z"],"if":{"properties":{"c":{"const":"US"}}},"then":{"properties":{"z":{"pattern":"^[0-9]{5}$"}}}}',
    ['{"c":"US","z":"12345"}', '{"c":"CA","z":"K1A"}'],
  ],
  [
    '{"properties":{"a":{"const":1},"b":{"const":2}},"dependentRequired":{"a":["b"]}}',
    ["{}", '{"b":2}', '{"a":1,"b":2}'],
  ],
  [
    '{"patternProperties":{"^S_":{"type":"string"},"^I_":{"type":"integer"}},"additionalProperties":{"const":null}}',
    ['{"S_a":"x","I_b":1,"other":null}', "{}"],
  ],
  [
    '{"properties":{"a":{"const":1},"b":{"const":2}},"maxProperties":1}',
    ["{}", '{"a":1}', '{"b":2}'],
  ],
  [
    '{"$id":"https://example.com/s","properties":{"a":{"$ref":"#x"},"b":{"$ref":"t"}},"$defs":{"x":{"$anchor":"x","const":1},"t":{"$id":"t","$ref":"#/$defs/x","$defs":{"x":{"const":2}}}}}',
    ['{"a":1,"b":2}'],
  ],
  ['{"type":"array","items":{"type":"integer"},"contains":{"const":7}}', ["[1,7,2]", "[7]"]],
  ['{"type":"string","pattern":"^(?=.*[0-9])[a-z0-9]{3,}$"}', ['"abc1"', '"1ab"']],
  [
    '{"type":"array","items":{"type":"null"},"minItems":2.0,"maxItems":9223372036854775807}',
    ["[null,null,null]"],
  ],
])("%s holds no answer back that it allows", (schema, texts) => {
  for (const text of texts) expect(written(schema, text)).toBe(text);
});

test.each<[schema: string, text: string, written: string]>([
  ['{"type":"integer"}', E101, E100],
  ['{"type":"integer"}', "01", "0"],
  ['{"type":"integer"}', "1.0", "1"],
  ['{"type":"integer","minimum":9007199254740993}', "9007199254740992", "9007199254740992…"],
  ['{"type":"integer","maximum":9223372036854775807}', "9223372036854775808", "922337203685477580"],
  ['{"type":"integer","minimum":10,"maximum":9999}', "10000", "1000"],
  ['{"type":"integer","minimum":10,"maximum":9998}', "9999", "999"],
  ['{"type":"number"}', "1e308", "1e30"],
  ['{"type":"number"}', "12e200", "12e20"],
  ['{"type":"number","maximum":2.5}', "2.51", "2.5"],
  ['{"type":"number","maximum":2.5}', "2.501", "2.50"],
  ['{"type":"number","minimum":2.5}', "2.4", "2."],
  ['{"type":"number","minimum":2.5}', "2", "2…"],
  ['{"type":"number","exclusiveMaximum":1}', "0.99999999999999999", "0.9999999999999999"],
  ['{"type":"number","exclusiveMaximum":1}', "1", ""],
  ['{"type":"number","exclusiveMinimum":0}', "-0", ""],
  ['{"type":"number","exclusiveMinimum":0}', "0.0", "0.0…"],
  ['{"type":"number","minimum":1}', "-0", ""],
  [
    '{"type":"number","exclusiveMaximum":9223372036854775807}',
    "9223372036854775807",
    "922337203685477580",
  ],
  ['{"type":"integer","format":"int32"}', "2147483648", "214748364"],
  ['{"type":"integer","format":"uint32","exclusiveMinimum":0}', "0", ""],
  ['{"type":"number","format":"int64"}', "1.5", "1"],
  ['{"const":2512292042121000001}', "2512292042121000000", "251229204212100000"],
  ['{"properties":{"b":{"type":"null"},"10":{"type":"null"}}}', '{"10":null,"b"', '{"10":null'],
  ['{"type":"string","format":"date","pattern":"^2024"}', '"2023-01-01"', '"202'],
  ['{"type":"array","items":{"type":"integer"},"uniqueItems":true}', "[1,1]", "[1,1"],
  ['{"type":"array","items":{"enum":["a","b"]},"uniqueItems":true}', '["a","a"]', '["a","'],
  ['{"type":"array","items":{"enum":["a","b"]},"uniqueItems":true}', '["a","b","a"]', '["a","b"'],
  ['{"type":"array","items":{"type":"number"},"uniqueItems":true}', "[1,1.0]", "[1,1.0"],
  ['{"type":"number","minimum":0,"maximum":1,"multipleOf":0.01}', "0.075", "0.07"],
  ['{"type":"integer","multipleOf":60,"minimum":1,"maximum":100}', "90", ""],
  [TAGGED, '{"a":1}', '{"'],
  ['{"oneOf":[{"type":"integer"},{"minimum":2}]}', "3", ""],
  [
    '{"properties":{"a":{"const":1},"b":{"const":2}},"dependentRequired":{"a":["b"]}}',
    '{"a":1}',
    '{"a":1',
  ],
  ['{"patternProperties":{"^S_":{"type":"null"}},"additionalProperties":false}', '{"T', '{"'],
  ['{"properties":{"a":{"const":1},"b":{"const":2}},"maxProperties":1}', '{"a":1,"b"', '{"a":1'],
  [
    '{"type":"string","format":"date-time","pattern":"Z$"}',
    '"2024-12-06T18:24:05.1234567890Z"',
    '"2024-12-06T18:24:05.123456789',
  ],
  ['{"type":"string","format":"uri","maxLength":10}', '"https://abc', '"https://ab'],
])("%s ends %s at %s", (schema, text, end) => {
  expect(written(schema, text)).toBe(end);
});

test.each([
  [`{"type":"integer","minimum":1${"0".repeat(100)}}`, /of more than 100 digits/],
  ['{"type":"number","exclusiveMaximum":-1e100}', /of more than 100 digits/],
  ['{"type":"number","exclusiveMinimum":0,"maximum":5e-324}', /of more than 100 digits/],
  ['{"type":"number","exclusiveMinimum":1,"exclusiveMaximum":1.0000000000000002}', /contradict/],
  ['{"type":"number","exclusiveMinimum":0.1,"maximum":0.1}', /contradict each other/],
  [
    '{"type":"integer","minimum":9007199254740993,"maximum":9007199254740992}',
    /contradict each other/,
  ],
  ['{"type":"integer","minimum":"1"}', /"minimum" that is not a number/],
  ['{"allOf":[{"minimum":1},{"minimum":null}],"type":"integer"}', /"minimum" that is not a number/],
  ['{"type":"array","items":1.0}', /1, which is not a schema/],
  ['{"type":["integer",12345678901234567890]}', /"type" 12345678901234567890/],
])("%s is refused in a sentence", (schema, message) => {
  expect(() => written(schema, "1")).toThrow(message);
});
