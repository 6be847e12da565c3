import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { createRender } from "../../../engines/tokens/chatTemplate.ts";
import { strftime } from "../../../engines/tokens/strftime.ts";
import { PYTHON, hasPython } from "../python/environment.ts";

const MORNING = new Date(2026, 10, 22, 9, 5, 7, 4);
const NOON_OF_ANOTHER_WEEKS_YEAR = new Date(2021, 0, 3, 12, 59, 59, 999);
const ALL =
  [..."aAbBcCdDeFgGhHIjklmMnpPrRStTuUVwWxXyYzZf%"].map((letter) => `%${letter}`).join("|") +
  [..."CdegGHIjklmMSuUVwWyY"].map((letter) => `|%-${letter}`).join("");

test.each([
  [MORNING, "%Y-%m-%d %A %B %b", "2026-11-22 Sunday November Nov"],
  [MORNING, "%a %d %b %y, %-d.%-m., %e", "Sun 22 Nov 26, 22.11., 22"],
  [MORNING, "%H:%M:%S.%f, %-I:%M %p%z%Z", "09:05:07.004000, 9:05 AM"],
  [
    MORNING,
    "%c|%x|%X|%D|%F %T|%R",
    "Sun Nov 22 09:05:07 2026|11/22/26|09:05:07|11/22/26|2026-11-22 09:05:07|09:05",
  ],
  [MORNING, "%j %w %u %U %W %G-%V", "326 0 7 47 46 2026-47"],
  [NOON_OF_ANOTHER_WEEKS_YEAR, "%c %I %p %-j %e", "Sun Jan  3 12:59:59 2021 12 PM 3  3"],
  [NOON_OF_ANOTHER_WEEKS_YEAR, "%U %W %G-%V %g", "01 00 2020-53 20"],
  [NOON_OF_ANOTHER_WEEKS_YEAR, "100%% %%d", "100% %d"],
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

test.each(["%Q", "%s", "%-A", "%", "%_d", "%:z"])(
  "a template with another directive is refused, and the sentence names it: %s",
  (directive) => {
    const render = createRender(`{{ strftime_now('%Y ${directive}') }}`, {}, "model");
    expect(() => render([{ role: "user", content: "hello" }])).toThrow(
      /^The model's chat template refuses a conversation: it writes the date with "%.*", which Kit does not know\. Change/,
    );
  },
);

test("a template knows today", () => {
  const render = createRender("{{ strftime_now('%A %-d') }}", {}, "model");
  const before = new Date();
  const text = render([{ role: "user", content: "hello" }]);
  expect([before, new Date()].map((time) => strftime("%A %-d", time))).toContain(text);
});
