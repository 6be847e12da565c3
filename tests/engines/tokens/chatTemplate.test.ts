import { expect, test } from "vitest";
import { createRender } from "../../../engines/tokens/chatTemplate.ts";
import { createTemplate } from "../../../engines/tokens/jinja.ts";
import type { Message } from "../../../protocol/chat.ts";
import { STYLES } from "./styles.ts";

const MESSAGES: Message[] = [{ role: "user", content: "hello" }];
const LITTLE_MEMORY = 200 * 2 ** 20;

const within = (count: number, body: string) => `{% for i in range(${count}) %}${body}{% endfor %}`;
const doubled = (start: string) => `{% set a = ${start} %}${"{% set a = a + a %}".repeat(60)}`;

test.each([
  ["loops in loops", within(1000, within(1000, "{{ i }}")), /it takes more than \d+ s/],
  ["a count", "{{ range(1000000000)|length }}", /it makes a range of more than 100000 items/],
  ["doubled texts", doubled("'abcdefgh'"), /it takes more than \d+ steps/],
  ["doubled lists", doubled("[1]"), /it takes more than \d+ steps/],
  [
    "a macro that calls itself",
    "{% macro f(a) %}{{ f(a + a) }}{% endmacro %}{{ f('a') }}",
    /steps/,
  ],
  ["much text", within(1000, "x".repeat(100)), /it writes more than 65616 characters/],
])(
  "a chat template that does not end costs a sentence and little memory: %s",
  (_, source, said) => {
    const before = process.memoryUsage().rss;
    const render = createRender(source, {}, "model");
    expect(() => render({ messages: MESSAGES })).toThrow(said);
    expect(() => render({ messages: MESSAGES })).toThrow(
      /^The model's chat template refuses a conversation: it /,
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(LITTLE_MEMORY);
  },
);

test("a template is stopped within a single step, too", () => {
  const nested = "{% set ns = namespace(a=[1]) %}" + within(50, "{% set ns.a = [ns.a, ns.a] %}");
  const template = createTemplate(`${nested}{{ ns.a|tojson }}`);
  const budget = { steps: 1e9, characters: 1e9, milliseconds: 50 };
  expect(() => template({}, budget)).toThrow("it takes more than 0.05 s");
});

test("a long conversation is within the limits of a published template", () => {
  const source = STYLES["Qwen 3"]!.config.chat_template ?? "";
  const render = createRender(source, { eos_token: "<|im_end|>" }, "model");
  const long = Array.from({ length: 2_000 }, (_, i): Message => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: "word ".repeat(i % 50),
  }));
  expect(render({ messages: long }).length).toBeGreaterThan(200_000);
  expect(
    render({ messages: [{ role: "user", content: "word ".repeat(1e6) }] }).length,
  ).toBeGreaterThan(5e6);
});

test("templates count as Python does, and know the date", () => {
  const render = createRender(
    "{{ range(3)|list }}{{ range(1, 3)|list }}{{ range(5, 0, -2) }}{{ range(0)|list }} {{ strftime_now('%Y') }}",
    {},
    "model",
  );
  const year = new Date().getFullYear();
  expect(render({ messages: MESSAGES })).toBe(`[0, 1, 2][1, 2]range(5, 0, -2)[] ${year}`);
});

test("a call without words has an empty text where a template refuses null, and null elsewhere", () => {
  const call = { function: { name: "f", arguments: '{"x": 2512292042121000001}' } };
  const messages: Message[] = [
    ...MESSAGES,
    { role: "assistant", content: undefined, tool_calls: [call] },
  ];
  const written = (body: string) => {
    const calls = "{% for call in m.tool_calls %}{{ call.function.arguments|tojson }}{% endfor %}";
    const source = `{% for m in messages %}[${body}]${calls}{% endfor %}`;
    return createRender(source, {}, "model")({ messages });
  };
  const called = '{"x": 2512292042121000001}';
  expect(written("{{ m.content + '!' }}")).toBe(`[hello!][!]${called}`);
  expect(written("{{ m.content.split('</think>')[-1] }}")).toBe(`[hello][]${called}`);
  expect(written("{{ m.content }}")).toBe(`[hello][None]${called}`);
});

test("a refusal speaks of the conversation, which may be a row or a request", () => {
  const render = createRender("{{ raise_exception('no system') }}", {}, "model");
  expect(() => render({ messages: MESSAGES })).toThrow(
    /^The model's chat template refuses a conversation: no system\. Change its messages, or use a model with another template\.$/,
  );
});
