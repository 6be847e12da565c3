import { expect, test } from "vitest";
import { type Progress, NO_PROGRESS, reduceProgress } from "../../../protocol/progress.ts";
import { activityOf, factsOf } from "../../../src/job/facts.ts";

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
  reduceProgress(progress, { event, at, data });

function after(...events: Event[]): Progress {
  return events.reduce<Progress>((progress, event) => then(progress, ...event), NO_PROGRESS);
}

type Status = Parameters<typeof factsOf>[1];

const said = (progress: Progress, status: Status = "running") =>
  factsOf(progress, status).map(({ name, value }) => `${name} ${value}`);

const evaluated = (step: number, accuracy: number, more: object = {}): Event => [
  "checkpoint.evaluated",
  at(step),
  { step, rows: 30, metrics: { accuracy, errors: 1 - accuracy }, ...more },
];

test("only what the events have said is a fact", () => {
  expect(said(NO_PROGRESS, "queued")).toEqual([]);
  expect(said(after(STARTED))).toEqual(["elapsed 0s", "step 0 of 1,200"]);
});

test("a job in its midst says how far it is, and its newest figures", () => {
  const log601 = { tokensPerSecond: 12_345.6, learningRate: 0.0012345678, evalLoss: 1.5 };
  expect(said(after(STARTED, log(1, 5), log(601, 65, log601)))).toEqual([
    ...["elapsed 1m 05s", "step 601 of 1,200", "tokens/s 12,346", "learning rate 0.001235"],
    "eval loss 1.5",
  ]);
});

test("the eval loss has its way, and a log without one keeps it", () => {
  const way = (...losses: (number | null)[]) =>
    said(after(STARTED, ...losses.map((evalLoss, n) => log(n + 1, n + 1, { evalLoss })))).at(-1);
  expect(way(2, 0.12345, 0.5, null)).toBe("eval loss 2 → 0.1235 → 0.5, best at step 2");
});

test.each([
  ["2 → 0.1 → … → 5 → 6 → 7, best at step 2", [2, 0.1, 3, 4, 5, 6, 7]],
  ["2 → 0.1 → 3 → 4 → 5 → 6, best at step 2", [2, 0.1, 3, 4, 5, 6]],
  ["2 → 3 → 4 → 5 → 6, best at step 1", [2, 3, 4, 5, 6]],
  ["9 → … → 1 → … → 3 → 4 → 5, best at step 4", [9, 8, 7, 1, 2, 2.5, 3, 4, 5]],
])('"…" takes the place of at least two figures: %s', (way, losses) => {
  const logs = losses.map((evalLoss, n) => log(n + 1, n + 1, { evalLoss }));
  expect(said(after(STARTED, ...logs)).at(-1)).toBe(`eval loss ${way}`);
});

test.each([
  ["accuracy 0.26 → 0.68 of 30 rows, best at step 5", 0.68],
  ["accuracy 0.26 → 1 on 30 rows, best at step 5", 1],
])("a whole figure isn't read as a count of rows: %s", (way, last) => {
  expect(said(after(STARTED, evaluated(0, 0.26), evaluated(5, last)))[2]).toBe(way);
});

test("metrics follow, the last figure of each", () => {
  const progress = after(
    STARTED,
    log(1, 1, { metrics: { rewardsMargins: 0.123456, "a b": "no", never: null } }),
    log(2, 2, { metrics: { rewardsMargins: 0.5, evalAccuracy: 0.75 } }),
    log(3, 3, { metrics: "none" }),
  );
  expect(said(progress).slice(2)).toEqual(["rewards margins 0.5", "eval accuracy 0.75"]);
});

test("an objective's held-out metrics have their way, and a best if Kit knows what is better", () => {
  const logs = [0.1, 0.2, 0.1].map((value, n) => {
    const [evalRewardsMargins, evalRewardsRejected, evalOwn] = [value, value, value];
    return log(n + 1, n, { metrics: { evalRewardsMargins, evalRewardsRejected, evalOwn, own: 1 } });
  });
  expect(said(after(STARTED, ...logs)).slice(2)).toEqual([
    "own 1",
    "eval rewards margins 0.1 → 0.2 → 0.1, best at step 2",
    "eval rewards rejected 0.1 → 0.2 → 0.1, best at step 1",
    "eval own 0.1 → 0.2 → 0.1",
  ]);
});

test("what the model answered has its way from before the training, by what is better", () => {
  const lower = { lowerIsBetter: ["errors"] };
  expect(said(after(STARTED, evaluated(0, 0.25))).slice(2)).toEqual([
    "accuracy 0.25 of 30 rows",
    "errors 0.75 of 30 rows",
  ]);
  const later = [evaluated(0, 0.25, lower), evaluated(5, 1, lower), evaluated(9, 0.5, lower)];
  expect(said(after(STARTED, ...later), "completed").slice(2)).toEqual([
    "accuracy 0.25 → 1 → 0.5 of 30 rows, best at step 5",
    "errors 0.75 → 0 → 0.5 of 30 rows, best at step 5",
  ]);
  expect(said(after(STARTED, evaluated(0, 0.5), evaluated(5, 0.25))).at(2)).toBe(
    "accuracy 0.5 → 0.25 of 30 rows, best before training",
  );
});

test.each([
  ["1", { resumedBest: { step: 2, evalLoss: 1 } }],
  ["2 → 1", { resumedEvaluations: [2, 1].map((evalLoss, n) => ({ step: n + 1, evalLoss })) }],
])(
  "a job that goes on from another begins at its step, and with its eval loss so far: %s",
  (way, found) => {
    const started = { maxSteps: 9, resumedFrom: "a", resumedStep: 4, ...found };
    const resumed = after(["training.started", NaN, started]);
    expect(said(resumed)[0]).toBe("step 4 of 9");
    expect(resumed.resumed).toEqual({ jobId: "a", step: 4 });
    expect(said(then(resumed, ...log(6, NaN, { evalLoss: 3 }))).at(-1)).toBe(
      `eval loss ${way} → 3, best at step 2`,
    );
  },
);

test("an ended job took until its last event, and has no activity", () => {
  const ended = after(STARTED, log(1, 1), log(3, 3), ["training.completed", at(90), {}]);
  expect(said(ended, "completed")).toEqual(["elapsed 1m 30s", "step 3 of 1,200"]);
  expect(activityOf(ended, "completed", 0)).toBe("");
});

test("nonsense in the data changes nothing that was known", () => {
  const known = after(STARTED, log(1, 1, { learningRate: 0.5 }), log(2, 2));
  const nonsense = { step: "7", learningRate: null, tokensPerSecond: {}, evalLoss: [] };
  expect(said(then(known, "training.log", NaN, nonsense))).toEqual(said(known));
  expect(said(after(["training.started", NaN, {}], ["training.log", NaN, {}]))).toEqual([]);
});

test("a clock that is set back takes no time away", () => {
  const progress = after(STARTED, log(1, 5), log(301, 35), log(301, -86_400), log(601, -86_370));
  expect(said(progress).slice(0, 2)).toEqual(["elapsed 1m 05s", "step 601 of 1,200"]);
});

const evaluating = (answered: number, seconds: number, more: object = {}): Event => [
  "checkpoint.evaluating",
  at(seconds),
  { step: 0, answered, rows: 100, ...more },
];
const downloading: Event = [
  "training.preparing",
  at(0),
  { doing: "downloading a/b: 4 MB of 9 MB" },
];
const saving = (step: string, seconds = 65): Event => [
  "training.preparing",
  at(seconds),
  { doing: `saving step ${step}` },
];
const SAVED: Event = ["checkpoint.saved", at(71), { step: 1_200 }];
const toEnd = [STARTED, log(1, 5), log(601, 65), log(1_200, 70)];

test.each<[string, Status, Event[]]>([
  ["waiting for its turn", "queued", []],
  ["preparing, for 12s", "running", []],
  ["evaluating 0 of 100 held-out rows", "running", [evaluating(0, 0)]],
  [
    "evaluating 31 of 100 held-out rows, 1m 20s left",
    "running",
    [evaluating(31, 36, { secondsLeft: 80 })],
  ],
  ["downloading a/b: 4 MB of 9 MB, for 0s", "running", [downloading]],
  [
    "downloading a/b: 4 MB of 9 MB, for 1m 05s",
    "running",
    [downloading, [downloading[0], at(65), downloading[2]]],
  ],
  ["preparing", "running", [downloading, evaluating(100, 120)]],
  ["waiting for the first step", "running", [STARTED]],
  ["training", "running", [STARTED, log(1, 5)]],
  ["training, 1m 00s left", "running", [STARTED, log(1, 5), log(601, 65)]],
  ["training, 10s left", "running", [STARTED, log(1_001, 1), log(1_101, 11)]],
  ["evaluating 7 of 100 held-out rows", "running", [STARTED, log(1, 5), evaluating(7, 9)]],
  ["training", "running", [STARTED, log(1, 5), log(1_199, 65)]],
  ["saving step 1,200", "running", toEnd],
  ["saving step 1,200, for 0s", "running", [...toEnd, saving("1,200", 70)]],
  ["finishing", "running", [...toEnd, SAVED]],
  ["", "cancelled", [STARTED, log(1, 5)]],
])("what a job does now: %s", (activity, status, events) => {
  expect(activityOf(after(...events), status, 12_000)).toBe(activity);
});

test.each<[string, number, Event[]]>([
  ["training, 1m 00s left", 0, []],
  ["training, 57s left", 2.5, []],
  ["training, 50s left", 2.5, [["checkpoint.saved", at(72.5), {}]]],
  ["training", 60, []],
  [
    "evaluating 31 of 100 held-out rows, 1m 18s left",
    2.5,
    [evaluating(31, 66, { secondsLeft: 80 })],
  ],
  ["saving step 600, for 3s", 2.5, [saving("600")]],
  ["saving step 600, for 4s", 2.5, [saving("600"), evaluating(100, 66)]],
  ["training, 57s left", 2.5, [saving("600"), ["checkpoint.saved", at(65), {}]]],
])(
  "time counts on between events, and a save that takes a second is named: %s",
  (activity, seconds, events) => {
    const progress = after(STARTED, log(1, 5), log(601, 65), ...events);
    expect(activityOf(progress, "running", 0, seconds * 1000)).toBe(activity);
  },
);

test("a job that is asked before its training has elapsed since", () => {
  const started = after(evaluating(0, 0), evaluating(100, 120), ["training.started", at(121), {}]);
  expect(said(then(started, ...log(5, 130)))).toEqual(["elapsed 2m 10s", "step 5"]);
});
