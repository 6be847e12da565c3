import { exactMatch, jsonFields, labels, validJson } from "kit/metrics";
import { describe, expect, it } from "vitest";
import { createRandom } from "../../engines/random.ts";
import type { Answered, Metrics } from "../../protocol/metric.ts";
import { questionOf } from "../../sdk/metrics/ask.ts";
import { compareAnswers } from "../../sdk/metrics/compare.ts";
import { scoreAnswers } from "../../sdk/metrics/score.ts";
import { bootstrap, wilson } from "../../sdk/metrics/statistics.ts";

function answered(output: string, expected: string, input = "q"): Answered {
  return { row: { prompt: input, completion: expected }, input, output, expected };
}

describe("the built-in metrics", () => {
  it.each<[(one: Answered) => number, string, string, number]>([
    [exactMatch, " yes\n", "yes", 1],
    [exactMatch, "Yes", "yes", 0],
    [validJson, '{"a":1}', "", 1],
    [validJson, '{"a":1', "", 0],
    [jsonFields, '{"a":1,"b":[2]}', '{"b":[2],"a":1}', 1],
    [jsonFields, '{"a":1,"c":3}', '{"a":1,"b":2}', 0.5],
    [jsonFields, "a: 1", '{"a":1}', 0],
    [jsonFields, "[1]", '{"a":1}', 0],
    [jsonFields, "[1]", "[1]", 1],
    [jsonFields, "{}", "{}", 1],
  ])("%s of %j for %j is %d", (metric, output, expected, score) => {
    expect(metric(answered(output, expected))).toBe(score);
  });

  it("labels have an accuracy and a macro F1 over the labels of the rows", () => {
    const pairs = [
      ["a", "a"],
      ["a", "a"],
      ["b", "a"],
      ["b", "b"],
      ["?", "c"],
    ] as const;
    // F1: a 2·2/(2+3), b 2·1/(2+1), c 0.
    const figures = labels.ofAll(pairs.map(([output, expected]) => answered(output, expected)));
    expect(figures[""]).toBe(3 / 5);
    expect(figures.MacroF1).toBeCloseTo((4 / 5 + 2 / 3 + 0) / 3, 12);
    expect(labels.ofAll([])).toEqual({ "": 0, MacroF1: 0 });
  });
});

describe("scores", () => {
  it("are means, of booleans, promises and scores as of autoevals, without those that are null", async () => {
    const answers = [answered("a", "a"), answered("b", "a"), answered("c", "a")];
    const metrics: Metrics = {
      right: ({ output, expected }) => output === expected,
      later: async ({ output }) => Promise.resolve(output === "b" ? 1 : 0.5),
      scorer: ({ output }) => ({ name: "ExactMatch", score: output === "c" ? null : 0.5 }),
      label: labels,
    };
    const { figures } = await scoreAnswers(metrics, answers);
    expect(figures).toEqual({
      ...{ right: 1 / 3, later: 2 / 3, scorer: 0.5, label: 1 / 3 },
      labelMacroF1: 0.5,
    });
  });
});

describe("a row's question", () => {
  const user = { role: "user", content: "u" } as const;
  it.each([
    [
      { prompt: "p", completion: "c" },
      { request: { prompt: "p" }, input: "p", expected: "c" },
    ],
    [{ text: "t" }, undefined],
    [{ messages: [{ role: "assistant", content: "a" } as const] }, undefined],
    [
      {
        messages: [
          user,
          { role: "assistant", content: [{ type: "text", text: "a" }] },
          user,
          { role: "assistant", content: "b", weight: 0 },
        ] as const,
      },
      { request: { messages: [user] }, input: "u", expected: "a" },
    ],
    [{ messages: [user, { role: "assistant", tool_calls: [] } as const] }, undefined],
  ])("of %j", (row, question) => {
    expect(questionOf(row)).toEqual(question);
  });
});

describe("intervals", () => {
  // scipy.stats.binomtest(k, n).proportion_ci(method="wilson")
  it.each([
    [0, 10, 0, 0.27753279986288926],
    [5, 10, 0.236593090512564, 0.7634069094874361],
    [92, 100, 0.8500189229905127, 0.9589065385156194],
    [100, 100, 0.9630065017930143, 1],
    [9231, 10000, 0.9177140205011988, 0.9281610400775347],
  ])("of %d right of %d are scipy's", (right, all, low, high) => {
    const [ours, most] = wilson(right, all);
    expect(ours).toBeCloseTo(low, 10);
    expect(most).toBeCloseTo(high, 10);
  });

  it("of a mean are scipy's percentile bootstrap", () => {
    const values = Array.from({ length: 60 }, (_, i) => (((i * 7) % 11) - 4) / 10);
    const [low, high] = bootstrap(values, createRandom(1).uniform);
    // scipy.stats.bootstrap(…, method="percentile", n_resamples=100000)
    expect(low).toBeCloseTo(0.0217, 2);
    expect(high).toBeCloseTo(0.1817, 2);
  });
});

describe("two models", () => {
  const metrics: Metrics = { exactMatch };
  /** @param right how many of the first rows are right */
  const answersOf = (rows: number, right: number) =>
    Array.from({ length: rows }, (_, i) => answered(i < right ? "yes" : "no", "yes", `${i}`));

  it.each([
    [100, true],
    [10_000, false],
  ])(
    "of which one has 2 %% more of %d rows right: may be chance is %s",
    async (rows, mayBeChance) => {
      const { figures } = await compareAnswers(
        metrics,
        answersOf(rows, rows * 0.52),
        answersOf(rows, rows * 0.5),
        1,
      );
      expect(figures[0]?.difference?.value).toBeCloseTo(0.02, 10);
      expect(figures[0]?.difference?.mayBeChance).toBe(mayBeChance);
    },
  );

  it("that are the same differ in nothing", async () => {
    const answers = answersOf(50, 20);
    const both: Metrics = { exactMatch, labels };
    const { figures, changed } = await compareAnswers(both, answers, answers, 1);
    expect(changed).toEqual([]);
    for (const { difference } of figures) {
      expect(difference).toEqual({ value: 0, interval: [0, 0], mayBeChance: true });
    }
    expect(figures.map(({ name }) => name)).toEqual(["exactMatch", "labels", "labelsMacroF1"]);
  });

  it("are told by the rows that changed, worse ones first", async () => {
    const before = [
      answered("yes", "yes", "1"),
      answered("no", "yes", "2"),
      answered("x", "y", "3"),
    ];
    const after = [
      answered("no", "yes", "1"),
      answered("yes", "yes", "2"),
      answered("z", "y", "3"),
    ];
    const { changed } = await compareAnswers(metrics, after, before, 1);
    expect(changed).toEqual([
      { input: "1", expected: "yes", before: "yes", after: "no", change: -1 },
      { input: "2", expected: "yes", before: "no", after: "yes", change: 1 },
    ]);
  });

  it("one alone has Wilson's interval, if its figure is a share", async () => {
    const { figures } = await compareAnswers(
      { exactMatch, length: ({ output }) => output.length },
      answersOf(100, 92),
      undefined,
      1,
    );
    expect(figures[0]?.interval?.[0]).toBeCloseTo(0.85, 3);
    expect(figures[1]?.interval).toBeUndefined();
  });
});
