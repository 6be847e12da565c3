import { expect, test } from "vitest";
import { type Progress, NO_PROGRESS, advance } from "../../../protocol/progress.ts";
import { factsOf } from "../../../src/job/facts.ts";

const START_MS = Date.parse("2026-06-01T12:00:00.000Z");

const at = (seconds: number) => START_MS + seconds * 1000;

type Event = readonly [event: string, at: number, data: Record<string, unknown>];

const STARTED: Event = ["training.started", at(0), { maxSteps: 1_200 }];

const log = (step: number, seconds: number, data: object = {}): Event => [
  "training.log",
  at(seconds),
  { step, ...data },
];

const then = (progress: Progress, ...[event, at, data]: Event) =>
  advance(progress, { event, at, data });

function after(...events: Event[]): Progress {
  return events.reduce<Progress>((progress, event) => then(progress, ...event), NO_PROGRESS);
}

/** The facts' values; their names are the same always. */
function said(progress: Progress, status: Parameters<typeof factsOf>[1] = "running") {
  const facts = factsOf(progress, status);
  expect(facts.map(([name]) => name)).toEqual([
    ...["step", "elapsed", "time left", "tokens a second", "learning rate", "evalLoss"],
  ]);
  return facts.map(([, value]) => value);
}

test("what no event has said yet is a dash", () => {
  expect(said(NO_PROGRESS, "queued")).toEqual(["–", "–", "–", "–", "–", "–"]);
  expect(said(after(STARTED))).toEqual(["–", "0s", "–", "–", "–", "–"]);
});

test("a job in its midst says how far it is, and how long it will take at its pace", () => {
  const progress = after(
    STARTED,
    log(1, 5),
    log(601, 65, { tokensPerSecond: 12_345.6, learningRate: 0.0012345678, evalLoss: 1.5 }),
  );
  expect(said(progress)).toEqual([
    ...["601 of 1,200", "1m 05s", "1m 00s", "12,346", "0.001235", "1.5, best 1.5"],
  ]);
});

test("the last and the best evaluation are shown, and a log without one keeps them", () => {
  const progress = after(
    STARTED,
    log(1, 1, { evalLoss: 2 }),
    log(2, 2, { evalLoss: 0.12345 }),
    log(3, 3, { evalLoss: 0.5 }),
    log(4, 4, { evalLoss: null }),
  );
  expect(said(progress).at(-1)).toBe("0.5, best 0.1235");
});

test("metrics follow, the last figure of each", () => {
  const progress = after(
    STARTED,
    log(1, 1, { metrics: { rewardsMargins: 0.123456, "a b": "no", never: null } }),
    log(2, 2, { metrics: { rewardsMargins: 0.5, evalAccuracy: 0.75 } }),
    log(3, 3, { metrics: "none" }),
  );
  expect(factsOf(progress, "running").slice(6)).toEqual([
    ["rewardsMargins", "0.5"],
    ["evalAccuracy", "0.75"],
  ]);
});

test("a job that goes on from another begins with its best", () => {
  const resumed = after([
    "training.started",
    NaN,
    { maxSteps: 9, resumedBest: { step: 4, evalLoss: 1 } },
  ]);
  expect(said(then(resumed, "training.log", NaN, { step: 6, evalLoss: 2 })).at(-1)).toBe(
    "2, best 1",
  );
});

test("an ended job has no time left, and took until its last event", () => {
  const ended = after(STARTED, log(1, 1), log(3, 3), ["training.completed", at(90), {}]);
  expect(said(ended, "completed").slice(0, 3)).toEqual(["3 of 1,200", "1m 30s", "–"]);
});

test("the pace is that of this job, wherever it began", () => {
  expect(said(after(STARTED, log(1_001, 1), log(1_101, 11)))[2]).toBe("10s");
});

test("nonsense in the data changes nothing that was known", () => {
  const known = after(STARTED, log(1, 1, { learningRate: 0.5 }), log(2, 2));
  const nonsense = {
    step: "7",
    learningRate: null,
    tokensPerSecond: {},
    evalLoss: [],
  };
  expect(said(then(known, "training.log", NaN, nonsense))).toEqual(said(known));
  expect(said(after(["training.started", NaN, {}], ["training.log", NaN, {}]))[0]).toBe("–");
});

test("what asking the model has shown stands beside the figures of before and the best", () => {
  const asked = (step: number, accuracy: number, more: object = {}): Event => [
    "checkpoint.evaluated",
    at(step),
    { step, metrics: { accuracy, errors: 1 - accuracy }, ...more },
  ];
  const lower = { lowerIsBetter: ["errors"] };
  const start = after(STARTED, asked(0, 0.25));
  expect(factsOf(start, "running").slice(6)).toEqual([
    ["accuracy", "0.25, before 0.25, best 0.25"],
    ["errors", "0.75, before 0.75, best 0.75"],
  ]);
  const later = after(STARTED, asked(0, 0.25, lower), asked(5, 1, lower), asked(9, 0.5, lower));
  expect(factsOf(later, "completed").slice(6)).toEqual([
    ["accuracy", "0.5, before 0.25, best 1"],
    ["errors", "0.5, before 0.75, best 0"],
  ]);
});

test("a clock that is set back takes no time away", () => {
  const progress = after(STARTED, log(1, 5), log(301, 35), log(301, -86_400), log(601, -86_370));
  expect(said(progress).slice(0, 3)).toEqual(["601 of 1,200", "1m 05s", "1m 00s"]);
});

test("a job that is asked before its training says how far that is, and has elapsed since", () => {
  const asking = (answered: number, seconds: number, more: object = {}): Event => [
    "checkpoint.evaluating",
    at(seconds),
    { step: 0, answered, rows: 100, ...more },
  ];
  const factOf = (progress: Progress, status: Parameters<typeof factsOf>[1] = "running") =>
    Object.fromEntries(factsOf(progress, status));
  const NAME = "asking held-out rows";
  const begun = after(asking(0, 0));
  expect(factOf(begun)).toMatchObject({ elapsed: "0s", [NAME]: "0 of 100" });
  const later = then(begun, ...asking(31, 36, { secondsLeft: 80 }));
  expect(factOf(later)).toMatchObject({
    ...{ elapsed: "36s", [NAME]: "31 of 100, 1m 20s left" },
  });
  expect(factOf(later, "cancelled")).toMatchObject({ [NAME]: "–" });
  const done = then(later, ...asking(100, 120, { secondsLeft: 0 }));
  const started = then(done, "training.started", at(121), { maxSteps: 5 });
  expect(factOf(then(started, ...log(5, 130)))).toMatchObject({ elapsed: "2m 10s", [NAME]: "–" });
  expect(factOf(then(NO_PROGRESS, "checkpoint.evaluating", NaN, {}))).toMatchObject({
    [NAME]: "–",
  });
});
