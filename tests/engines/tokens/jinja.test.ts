import { expect, test } from "vitest";
import { createTemplate } from "../../../engines/tokens/jinja.ts";
import { parseJson } from "../../../protocol/json.ts";

const BUDGET = { steps: 1e5, characters: 1e5 };

/** tests/engines/python/jinja.test.ts compares thousands of these with Python's. */
function rendered(source: string, json = "{}"): string {
  return createTemplate(source)(parseJson(json) as Record<string, unknown>, BUDGET);
}

test("numbers are written as Python writes them", () => {
  const json = `{"x":[2512292042121000001,0.0,-0.0,1.0,1e22,1e16,0.00001,0.1,-7,123456789012345.0]}`;
  const written =
    "[2512292042121000001, 0.0, -0.0, 1.0, 1e+22, 1e+16, 1e-05, 0.1, -7, 123456789012345.0]";
  expect(rendered("{{ x }}", json)).toBe(written);
  expect(rendered("{{ x|tojson }}", json)).toBe(written);
  expect(rendered("{% for one in x %}{{ one }} {{ one ~ '' }} {% endfor %}", json)).toBe(
    written
      .slice(1, -1)
      .split(", ")
      .map((one) => `${one} ${one} `)
      .join(""),
  );
  expect(rendered("{{ x[3] + 1 }} {{ x[4] == x[4]|int }}", json)).toBe("2.0 True");
  expect(
    rendered("{% for one in x %}{{ one is integer }}{{ one is float }}, {% endfor %}", json),
  ).toContain("TrueFalse, FalseTrue, ");
});

test("objects keep the order of their keys, and print as Python's dicts", () => {
  const json = `{"x":{"b":1,"10":null,"2":{"1":true,"0":"it's"}}}`;
  expect(rendered("{{ x }}", json)).toBe(`{'b': 1, '10': None, '2': {'1': True, '0': "it's"}}`);
  expect(rendered("{{ x|tojson(indent=1) }}", json)).toBe(
    '{\n "b": 1,\n "10": null,\n "2": {\n  "1": true,\n  "0": "it\'s"\n }\n}',
  );
  expect(rendered("{% for k, v in x|items %}{{ k }}{% endfor %}{{ x|list|join }}", json)).toBe(
    "b102b102",
  );
});

test("what is undefined is empty where Python's Jinja takes it, and refused elsewhere", () => {
  const json = `{"m":{"role":"user"}}`;
  expect(rendered("{% for call in m.tool_calls %}{{ call }}{% else %}none{% endfor %}", json)).toBe(
    "none",
  );
  const empty =
    "{{ m.x|length }}{{ m.x|join }}{{ m.x|trim }}{{ m.x|list }}{{ m.x|string }}{{ m.x ~ 'a' }}";
  expect(rendered(empty, json)).toBe("0[]a");
  expect(
    rendered("{{ m.x|upper }}{{ m.x|replace('a', 'b') }}{{ 'a' in m.x }}{{ m.x|first }}", json),
  ).toBe("False");
  for (const refused of ["m.x.y", "m.x + 'a'", "m.x()", "m.x < 1", "m.x|tojson", "m.x[0]"]) {
    expect(() => rendered(`{{ ${refused} }}`, json), refused).toThrow(/./);
  }
});

test("a method goes before a key of its name, and a key before it within brackets", () => {
  const json = `{"x":{"items":1,"get":2}}`;
  expect(rendered("{{ x['items'] }}{{ x.items()|list }}{{ x.get('get') }}", json)).toBe(
    "1[('items', 1), ('get', 2)]2",
  );
});

test("a result of a filter that Python computes as it is needed is true, and gone after use", () => {
  const json = `{"x":[{"role":"user"}]}`;
  const none = "x|selectattr('role', 'equalto', 'system')";
  expect(rendered(`{{ 'some' if ${none} }}{{ ${none}|list|length }}`, json)).toBe("some0");
  expect(rendered("{% set g = x|map(attribute='role') %}{{ g|list }}{{ g|list }}", json)).toBe(
    "['user'][]",
  );
});

test.each([
  ["x[0] + 1", "it computes with an integer beyond 2^53, which Kit doesn't support"],
  ["9007199254740993", "it has an integer beyond 2^53, which Kit doesn't support"],
  ["2 ** 3", 'it computes with "**", which Kit doesn\'t support'],
  ["'%s' % 1", "it formats a text with %, which Kit doesn't support"],
  ["x|sum", 'it uses the filter "sum", which Kit doesn\'t support'],
  ["'a'.zfill(3)", 'it calls "zfill", which Kit doesn\'t support'],
  ["'ab'.startswith('b', 1)", "it calls startswith or endswith with a range"],
])("what no template of a model writes is refused: %s", (expression, problem) => {
  expect(() => rendered(`{{ ${expression} }}`, '{"x":[9007199254740993]}')).toThrow(problem);
});
