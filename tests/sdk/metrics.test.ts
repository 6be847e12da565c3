import { ExactMatch, JSONDiff, Levenshtein } from "autoevals";
import { exactMatch, jsonFields, labels, validJson } from "kit/metrics";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRandom } from "../../engines/dataset/random.ts";
import type { Answered, Metrics } from "../../protocol/metric.ts";
import { evalExampleOf } from "../../sdk/metrics/answerRows.ts";
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
    [jsonFields, "no JSON", "no JSON", 0],
    [jsonFields, '{"id":2512292042121000000}', '{"id":2512292042121000001}', 0],
    [jsonFields, '{"id":[2512292042121000001]}', '{"id":[2512292042121000001]}', 1],
    [jsonFields, '{"a":{"10":1,"2":2},"b":1.0}', '{"b":1,"a":{"2":2.0,"10":1}}', 1],
    [jsonFields, '{"a":{"b":1}}', '{"a":{"b":1,"c":null}}', 0],
    [jsonFields, '{"a":[1]}', '{"a":[1,2]}', 0],
    [jsonFields, '{"a":1e22}', '{"a":10000000000000000000000}', 1],
    [jsonFields, "{}", '{"__proto__":{}}', 0],
  ])("%s of %j for %j is %d", (metric, output, expected, score) => {
    expect(metric(answered(output, expected))).toBe(score);
  });

  it("fields have a figure each, over the rows that have the field", async () => {
    const pairs = [
      ['{"a":1,"b":2}', '{"a":1,"b":3}'],
      ["no JSON", '{"a":1}'],
      ["1", "1"],
    ] as const;
    const after = pairs.map(([output, expected]) => answered(output, expected));
    const before = after.map((one) => ({ ...one, output: one.expected }));
    const { figures } = await compareAnswers({ mine: jsonFields }, { after, before, seed: 1 });
    expect(figures).toMatchObject([
      { name: "mine", rows: 3, value: 0.5, before: 1 },
      { name: "mine.a", rows: 2, value: 0.5, before: 1, difference: { value: -0.5 } },
      { name: "mine.b", rows: 1, value: 0, before: 1 },
    ]);
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
    const values = labels.compute(pairs.map(([output, expected]) => answered(output, expected)));
    expect(values[""]).toBe(3 / 5);
    expect(values.MacroF1).toBeCloseTo((4 / 5 + 2 / 3 + 0) / 3, 12);
    expect(labels.compute([])).toEqual({ "": 0, MacroF1: 0 });
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
    const { values } = await scoreAnswers(metrics, answers);
    expect(values).toEqual({
      ...{ right: 1 / 3, later: 2 / 3, scorer: 0.5, label: 1 / 3 },
      labelMacroF1: 0.5,
    });
  });
});

describe("a metric that gives no number", () => {
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- As a user's code may.
  const rejects = (reason: unknown) => Promise.reject<number>(reason);
  const answers = [answered("a", "a", "long ".repeat(20)), answered("b", "a")];
  it.each<[Metrics, RegExp]>([
    [{ bad: () => NaN }, /^The metric bad returned NaN for row 1, "long .{55}…"\. Make it return/],
    [
      { bad: () => -1e308 },
      /returned -1e\+308 for .*\. Make it return a number up to 1e\+300, true/,
    ],
    [{ bad: () => Infinity }, /^The metric bad returned Infinity for row 1/],
    [{ bad: () => "1" as never }, /^The metric bad returned '1' for row 1/],
    [{ bad: () => undefined as never }, /^The metric bad returned undefined for row 1/],
    [{ bad: () => ({ name: "x" }) as never }, /^The metric bad returned \{ name: 'x' \} for row 1/],
    [{ bad: () => ({ score: NaN }) }, /^The metric bad returned NaN for row 1/],
    [
      { bad: () => Promise.reject(new Error("no judge")) },
      /^The metric bad failed on row 1, .*: no judge/,
    ],
    [{ bad: () => rejects("text") }, /bad failed on row 1, .*: The project's code threw 'text'/],
    [
      {
        bad: () => {
          throw new Error("");
        },
      },
      /bad failed on row 1, .*: Error without a message/,
    ],
    [
      { bad: ({ output }) => (output === "b" ? NaN : 1) },
      /^The metric bad returned NaN for row 2, "q"/,
    ],
    [{ bad: { compute: () => ({ "": NaN }) } }, /^The metric bad returned NaN for all answers/],
    [{ bad: { compute: () => 1 as never } }, /^The metric bad returned 1 for all answers/],
    [
      { labels, labelsMacroF1: () => 1 },
      /^Two metrics have a value named labelsMacroF1\. Rename one\.$/,
    ],
  ])("%j is named with the row", async (metrics, message) => {
    const failed = scoreAnswers(metrics, answers);
    await expect(failed).rejects.toThrow(message);
    await expect(failed).rejects.toMatchObject({ code: "METRIC_FAILED" });
  });

  it("ends after a limit, though something keeps the process busy", async () => {
    const busy = setInterval(() => {}, 60_000);
    onTestFinished(() => clearInterval(busy));
    const stuck = { stuck: () => new Promise<number>(() => {}) };
    await expect(scoreAnswers(stuck, answers, { limitMs: 1 })).rejects.toThrow(
      /^The metric stuck never returned for row 1, .*\. Look for a promise in it that does not settle\.$/,
    );
  });

  it("is left when a signal is aborted, though it never settles", async () => {
    const abort = new AbortController();
    const scoring = scoreAnswers({ stuck: () => new Promise(() => {}) }, answers, {
      signal: abort.signal,
    });
    abort.abort(new Error("enough"));
    await expect(scoring).rejects.toThrow("enough");
  });
});

describe("scorers of autoevals, as they come from npm", () => {
  it("are metrics under names of one's own, or their own", async () => {
    const answers = [
      answered("abcd", "abcx"),
      answered('{"a":1,"b":"xy"}', '{"a":1,"b":"xz"}'),
      answered("same", "same"),
    ];
    const { values, perAnswer } = await scoreAnswers(
      { ExactMatch, Levenshtein, json: JSONDiff },
      answers,
    );
    expect(perAnswer).toEqual([
      { ExactMatch: 0, Levenshtein: 0.75, json: 0.75 },
      { ExactMatch: 0, Levenshtein: 1 - 1 / 16, json: 0.75 },
      { ExactMatch: 1, Levenshtein: 1, json: 1 },
    ]);
    expect(values.ExactMatch).toBe(1 / 3);
    expect(values.Levenshtein).toBeCloseTo((0.75 + 0.9375 + 1) / 3, 12);
    expect(values.json).toBeCloseTo(2.5 / 3, 12);
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
    expect(evalExampleOf(row)).toEqual(question);
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
  /** @param isRight whether each row's answer is */
  const answersOf = (rows: number, isRight: (row: number) => boolean) =>
    Array.from({ length: rows }, (_, i) => answered(isRight(i) ? "yes" : "no", "yes", `${i}`));

  it.each([
    [100, true],
    [10_000, false],
  ])(
    "of %d rows, of which one has two in a hundred more right: may be chance is %s",
    async (rows, chance) => {
      const { figures } = await compareAnswers(metrics, {
        after: answersOf(rows, (row) => row < rows * 0.52),
        before: answersOf(rows, (row) => row < rows * 0.5),
        seed: 1,
      });
      expect(figures[0]?.difference?.value).toBeCloseTo(0.02, 10);
      expect(figures[0]?.difference?.mayBeChance).toBe(chance);
    },
  );

  it("of which each is right where the other is not have scipy's interval", async () => {
    const { figures } = await compareAnswers(metrics, {
      after: answersOf(300, (row) => row % 3 !== 0),
      before: answersOf(300, (row) => row % 4 !== 0),
      seed: 1,
    });
    expect(figures[0]).toMatchObject({ rows: 300, before: 0.75, by: "Wilson" });
    const { value, interval } = figures[0]!.difference!;
    expect(value).toBeCloseTo(-1 / 12, 12);
    // scipy.stats.bootstrap((after, before), paired=True, method="percentile", n_resamples=100000)
    expect(interval[0]).toBeCloseTo(-0.1567, 2);
    expect(interval[1]).toBeCloseTo(-0.01, 2);
  });

  it.each<[string, Metrics, readonly string[], string[]]>([
    ["the lowest first", { part: jsonFields }, [], ["none", "half"]],
    ["of the lowest metric", { part: jsonFields, validJson }, [], ["none", "half"]],
    ["not by a score without a known best", { rest: ({ output }) => output.length - 2 }, [], []],
    ["not where lower is better", { part: jsonFields }, ["part"], []],
    ["not where there is no score", { none: () => ({ name: "none", score: null }) }, [], []],
    ["of metrics of all answers, each other answer", { labels }, [], ["half", "none"]],
    ["not the row's own answer, whatever a metric says", { never: () => 0 }, [], ["half", "none"]],
  ])("have wrong rows: %s", async (_, asked, lowerIsBetter, inputs) => {
    const expected = '{"a":1,"b":2}';
    const after = [
      answered(`${expected} `, expected, "own"),
      answered('{"a":1,"b":3}', expected, "half"),
      answered("no", expected, "none"),
    ];
    const { wrong } = await compareAnswers(asked, { after, lowerIsBetter, seed: 1 });
    expect(wrong.map(({ input }) => input)).toEqual(inputs);
  });

  it("that are the same differ in nothing", async () => {
    const answers = answersOf(50, (row) => row < 20);
    const both: Metrics = { exactMatch, labels };
    const { figures, changed } = await compareAnswers(both, {
      ...{ after: answers, before: answers, seed: 1 },
    });
    expect(changed).toEqual([]);
    for (const { difference } of figures) {
      expect(difference).toEqual({ value: 0, interval: [0, 0], mayBeChance: true });
    }
    expect(figures.map(({ name }) => name)).toEqual(["exactMatch", "labels", "labelsMacroF1"]);
  });

  it("that differ in fewer than six rows may do so by chance, whatever the interval is", async () => {
    const judge = async (rows: number, judged: Metrics) => {
      const { figures } = await compareAnswers(judged, {
        after: answersOf(rows, () => true),
        before: answersOf(rows, () => false),
        seed: 1,
      });
      return figures.map(({ difference }) => difference);
    };
    const all = { value: 1, interval: [1, 1] };
    expect(await judge(5, { exactMatch })).toEqual([{ ...all, mayBeChance: true }]);
    expect(await judge(6, { exactMatch })).toEqual([{ ...all, mayBeChance: false }]);
    expect((await judge(5, { labels }))[0]).toEqual({ ...all, mayBeChance: true });
    expect((await judge(6, { labels }))[0]).toEqual({ ...all, mayBeChance: false });
  });

  it("are compared by the rows of which both have a score", async () => {
    const half: Metrics = {
      known: ({ output }) => ({ score: output === "?" ? null : Number(output) }),
      never: () => ({ score: null }),
    };
    const { figures } = await compareAnswers(half, {
      after: [answered("1", ""), answered("?", ""), answered("0.5", "")],
      before: [answered("0", ""), answered("1", ""), answered("0.25", "")],
      seed: 1,
    });
    expect(figures).toMatchObject([
      { name: "known", rows: 2, value: 0.75, before: 0.125, difference: { value: 0.625 } },
    ]);
  });

  it("are told by the rows that changed, worse ones first", async () => {
    const before = [
      answered("yes", "yes", "1"),
      answered("no", "yes", "2"),
      answered("x", "y", "3"),
      answered("same", "y", "4"),
    ];
    const after = [
      answered("no", "yes", "1"),
      answered("yes", "yes", "2"),
      answered("longer", "y", "3"),
      answered("same", "y", "4"),
    ];
    const lengths: Metrics = { exactMatch, length: ({ output }) => output.length };
    const rows = async (lowerIsBetter: string[]) => {
      const { changed } = await compareAnswers(lengths, { after, before, lowerIsBetter, seed: 1 });
      return changed.map(({ input, change }) => [input, change]);
    };
    expect(await rows([])).toEqual([
      ["1", -1],
      ["2", 1],
      ["3", 5],
    ]);
    expect(await rows(["length"])).toEqual([
      ["3", -5],
      ["1", -1],
      ["2", 1],
    ]);
    const { changed } = await compareAnswers({ labels }, { after, before, seed: 1 });
    expect(changed).toEqual([
      { input: "1", expected: "yes", before: "yes", after: "no", change: -1 },
      { input: "2", expected: "yes", before: "no", after: "yes", change: 1 },
    ]);
  });

  it("one alone has Wilson's interval of a share, and a bootstrap's of another figure", async () => {
    const { figures } = await compareAnswers(
      { exactMatch, length: ({ output }) => output.length, labels },
      { after: answersOf(100, (row) => row < 92), seed: 1 },
    );
    expect(figures.map(({ name, by }) => [name, by])).toEqual([
      ["exactMatch", "Wilson"],
      ["length", "bootstrap"],
      ["labels", "bootstrap"],
      ["labelsMacroF1", "bootstrap"],
    ]);
    expect(figures[0]?.interval[0]).toBeCloseTo(0.85, 3);
    expect(figures[1]).toMatchObject({ value: 2.92, rows: 100 });
    expect(figures[2]?.interval[0]).toBeCloseTo(0.86, 1);
  });
});
