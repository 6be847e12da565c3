import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { createRender } from "../../../engines/tokens/chatTemplate.ts";
import { strftime } from "../../../engines/tokens/templateDate.ts";
import { PYTHON, hasPython } from "../python/environment.ts";

const MORNING = new Date(2026, 10, 22, 9, 5, 7, 4);
const NOON = new Date(2021, 0, 3, 12, 59, 59, 999);
const ALL =
  [..."aAbBdHImMpSyY%"].map((letter) => `%${letter}`).join("|") +
  [..."dHImMSyY"].map((letter) => `|%-${letter}`).join("");

// The first four are of Llama 3, Granite, gpt-oss and SmolLM3.
test.each([
  [MORNING, "%d %b %Y", "22 Nov 2026"],
  [MORNING, "%B %d, %Y", "November 22, 2026"],
  [NOON, "%Y-%m-%d", "2021-01-03"],
  [NOON, "%d %B %Y", "03 January 2021"],
  [MORNING, "%A %a %d %b %y, %-d.%-m.", "Sunday Sun 22 Nov 26, 22.11."],
  [MORNING, "%H:%M:%S, %-I:%M %p", "09:05:07, 9:05 AM"],
  [NOON, "%I %p", "12 PM"],
  [NOON, "100%% %%d", "100% %d"],
])("a date is written as Python does: %s %s", (time, format, written) => {
  expect(strftime(format, time)).toBe(written);
});

test.runIf(hasPython)("a year of dates is written as Python does, to the letter", () => {
  const times = Array.from(
    { length: 800 },
    (_, i) => new Date(2023, 0, 1 + i, i % 24, i % 60, i % 7),
  );
  const parts = times.map((time) => [
    ...[time.getFullYear(), time.getMonth() + 1, time.getDate()],
    ...[time.getHours(), time.getMinutes(), time.getSeconds()],
  ]);
  const program = `import datetime, json, sys
format, times = json.load(sys.stdin)
print(json.dumps([datetime.datetime(*time).strftime(format) for time in times]))`;
  const input = JSON.stringify([ALL, parts]);
  const theirs = JSON.parse(
    execFileSync(PYTHON, ["-c", program], { input, encoding: "utf8" }),
  ) as string[];
  expect(times.map((time) => strftime(ALL, time))).toEqual(theirs);
});

test.each(["%Q", "%e", "%-A", "%-%", "%", "%_d", "%:z"])(
  "a template with another directive is refused, and the sentence names it: %s",
  (directive) => {
    const render = createRender(`{{ strftime_now('%Y ${directive}') }}`, {}, "model");
    expect(() => render({ messages: [{ role: "user", content: "hello" }] })).toThrow(
      /^The model's chat template refuses a conversation: it writes the date with "%.*", which Kit doesn't support\. Use engine: python\(\), /,
    );
  },
);
