import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { createTemplate } from "../../../engines/tokens/jinja.ts";
import { messageOf } from "../../../protocol/error.ts";
import { parseJson } from "../../../protocol/json.ts";
import { PYTHON, hasPython } from "./environment.ts";

const PROGRAM = fileURLToPath(new URL("jinja.py", import.meta.url));
const VALUES = `{
  "some": {"role": "user", "none": null, "items": [1], "b": 1, "10": 2, "2": 3.0},
  "words": " Hello Wörld ’ it's \\"x\\" 🧪 \\n\\tend \\u00a0\\ufeff\\u001c",
  "large": 12345678901234567890123, "one": 1.0, "huge": 1e22, "small": 1e-5, "seven": -7, "zero": 0.0, "below": -0.0,
  "list": [3, 1, 2.0], "texts": ["b", "A", "c"], "empty": {}, "true_": true, "null_": null,
  "messages": [{"role": "system", "content": "a"}, {"role": "user", "n": {"x'": [null, 1e16]}}]
}`;
const BUDGET = { steps: 1e6, characters: 1e6 };

/** What is undefined, and others besides the values. */
const NAMES = [
  ...Object.keys(JSON.parse(VALUES) as object),
  "missing",
  "some.missing",
  "(1, 2)",
  "some.tools",
  "some['items']",
  "''",
];
const OTHERS = ["some", "words", "large", "one", "list", "true_", "null_", "missing", "seven"];
const FILTERS = [
  "abs",
  "capitalize",
  "count",
  "default",
  "dictsort",
  "e",
  "first",
  "float",
  "int",
  "join",
  "items|list",
  "last",
  "length",
  "list",
  "lower",
  "reverse|list",
  "safe",
  "sort",
  "string",
  "title",
  "tojson",
  "trim",
  "unique|list",
  "upper",
  "tojson(indent=2)",
  "tojson(ensure_ascii=True)",
  "tojson(sort_keys=True)",
  "tojson(separators=(',', ':'))",
  "join(', ')",
  "default('d', true)",
  "trim('e ')",
  "replace('l', 'LL')",
  "replace('l', 'L', 1)",
  "indent(2, true)",
  "map('upper')|list",
  "map(attribute='role')|list",
  "select('string')|list",
  "selectattr('role', 'equalto', 'user')|list",
  "rejectattr('role')|list",
  "sort(reverse=true)",
  "dictsort(by='value')",
  "join(attribute='role')",
];
const TESTS = [
  "defined",
  "undefined",
  "none",
  "boolean",
  "true",
  "false",
  "integer",
  "float",
  "number",
  "string",
  "mapping",
  "iterable",
  "sequence",
  "callable",
  "odd",
  "even",
  "lower",
  "upper",
];
const PARTS = [
  ".role",
  "['role']",
  "[0]",
  "[-1]",
  "[1:]",
  "[::-1]",
  ".items()",
  ".keys()|list",
  ".get('role')",
  ".get('q', 'z')",
  ".strip()",
  ".upper()",
  ".split()",
  ".split('l')",
  ".split('l', 1)",
  ".rsplit('l', 1)",
  ".startswith(('a', ' '))",
  ".endswith('x')",
  ".title()",
  ".capitalize()",
  ".replace('l', '')",
  ".lstrip('a ')",
  ".rstrip('c\n')",
  ".splitlines()",
  ".append(1)",
  ".missing()",
  ".missing.more",
  ".join(['a', 'b'])",
];
const OPERATORS = [
  "+",
  "-",
  "*",
  "/",
  "//",
  "%",
  "~",
  "==",
  "!=",
  "<",
  ">=",
  "in",
  "not in",
  "and",
];
const WHOLE = [
  "{% set n = namespace(a=1) %}{% for i in range(3) %}{% set n.a = n.a + i %}{% endfor %}{{ n.a }}",
  "{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}",
  "{% macro f(a, b='B', c=none) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1, c=2) }}{{ f(b=3) }}",
  "{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, q=3) }}",
  "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}",
  "{% macro f(a) %}<{{ caller(a) }}>{% endmacro %}{% call(x) f(1) %}in{{ x }}{% endcall %}",
  "{% filter upper %}abc{{ some }}{% endfilter %}{% set q %}abc{{ large }}{% endset %}{{ q }}",
  "{% for k, v in some|items %}{{ k }}={{ v }};{% else %}none{% endfor %}",
  "{% for x in list if x != 1 %}{{ x }}{{ loop.length }}{{ loop.nextitem }}{% endfor %}",
  "{% for x in list %}{% if loop.first %}{% continue %}{% endif %}{{ x }}{% break %}{% endfor %}",
  "{% for x in list %}{{ loop.revindex }}{% endfor %}",
  "{% for call in some.tools %}{{ call }}{% endfor %}{{ some.tools|length }}{{ some.tools ~ 'a' }}",
  "{% if messages|selectattr('role', 'equalto', 'none') %}always{% endif %}",
  "{% set g = messages|map(attribute='role') %}{{ g|list }}{{ g|list }}",
  "{{ ('<'|safe) + '<' }}{{ '<' ~ ('<'|safe) }}{{ '<'|e }}{{ '<' + (some|tojson|safe) }}",
  "{{ 0.1 + 0.2 }} {{ 1.0 * 10000000000000000 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7.5 % 2 }} {{ true + 1 }}",
  "{{ range(1, 9, 3)|list }}{{ range(3) }}{{ dict(a=1) }}{{ {'a': 1, 2: none}|tojson }}{{ 'x' if none }}",
  "  {% if true %}\n  a\n  {% endif %}\nb {#- c -#} d\r\ne\n\n",
  "{{ raise_exception('no') }}",
  "{{ missing + 'a' }}",
  "{{ missing.a }}",
  "{{ none.a.b }}",
  "{% for x in none %}{% endfor %}",
];

const SOURCES = [
  ...NAMES.flatMap((name) => [
    `{{ ${name} }}{{ not ${name} }}`,
    `{% for x in ${name} %}[{{ x }}{{ loop.last }}]{% else %}-{% endfor %}`,
    ...FILTERS.map((filter) => `{{ ${name}|${filter} }}`),
    ...TESTS.map((one) => `{{ ${name} is ${one} }}`),
    ...PARTS.map((part) => `{{ ${name}${part} }}`),
    ...OPERATORS.flatMap((sign) => OTHERS.map((other) => `{{ ${name} ${sign} ${other} }}`)),
  ]),
  ...WHOLE,
];

/** @returns undefined for what Kit says that it does not know */
function rendered(source: string): string | null | undefined {
  try {
    return createTemplate(source)(parseJson(VALUES) as Record<string, unknown>, BUDGET);
  } catch (error) {
    return /which Kit doesn't/.test(messageOf(error)) ? undefined : null;
  }
}

it.runIf(hasPython)("evaluates thousands of small templates as Python's Jinja does", () => {
  const printed = execFileSync(PYTHON, ["-B", PROGRAM, VALUES], {
    input: JSON.stringify(SOURCES),
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  const texts = JSON.parse(printed) as (string | null)[];
  const theirs = SOURCES.map((source, i) => [source, texts[i]] as const);
  const ours = new Map(SOURCES.map((source) => [source, rendered(source)]));
  const isUnknown = (source: string) => ours.get(source) === undefined;
  // Python prints what is no value of a row by its address.
  const told = theirs.filter(
    ([source, text]) => !text?.includes(" at 0x") && !(text !== null && isUnknown(source)),
  );
  expect(told.length).toBeGreaterThan(3_800);
  expect(told.map(([source]) => [source, ours.get(source) ?? null])).toEqual(told);
  const others = theirs.filter(([source, text]) => text !== null && isUnknown(source));
  expect(others.filter(([source]) => !/large| % |is (odd|even)/.test(source))).toEqual([]);
});
