import { expect, test } from "vitest";
import { asEngineEvent } from "../../protocol/engineReport.ts";

const STARTED = { model: "m", parameters: 1, rows: 2, maxSteps: 3 };
const LOG = { step: 1, loss: 2, learningRate: 0.1, gradNorm: 1, epoch: 0.5, tokensPerSecond: 9 };
const SAVED = { step: 3, kind: "model", path: "artifacts/step-3" };

test.each([
  ["training.started", STARTED],
  ["training.started", { ...STARTED, cut: 0, format: "{text}", tokens: 5, epochs: 1.5 }],
  ["training.log", LOG],
  ["training.log", { step: 1, loss: null, gradNorm: null }],
  ["training.log", { step: 1 }],
  ["training.started", { ...STARTED, evalRows: 1 }],
  ["training.log", { ...LOG, evalLoss: 2.5 }],
  ["training.log", { ...LOG, evalLoss: null }],
  ["training.log", { ...LOG, metrics: { rewardsMargins: 0.5, evalAccuracy: null } }],
  ["checkpoint.saved", SAVED],
])("an event of a job passes as it is: %s %j", (event, data) => {
  const reported = { event, data };
  expect(asEngineEvent("mine", reported)).toBe(reported);
});

test.each([
  undefined,
  null,
  "training.log",
  {},
  { event: "training.log" },
  { event: "toString", data: {} },
  { event: "training.completed", data: { artifacts: [] } },
  { event: "training.started", data: { ...STARTED, parameters: -1 } },
  { event: "training.started", data: { ...STARTED, model: 7 } },
  { event: "training.log", data: { ...LOG, step: 1.5 } },
  { event: "training.log", data: { ...LOG, loss: "2" } },
  { event: "training.log", data: { ...LOG, evalLoss: "2" } },
  ...[
    [],
    "a",
    { a: "1" },
    { "a b": 1 },
    { "a\u001b[2J": 1 },
    { A: 1 },
    { ["a".repeat(65)]: 1 },
  ].map((metrics) => ({ event: "training.log", data: { ...LOG, metrics } })),
  {
    event: "training.log",
    data: {
      ...LOG,
      metrics: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`a${i}`, i])),
    },
  },
  { event: "training.started", data: { ...STARTED, evalRows: 0.5 } },
  { event: "training.log", data: { ...LOG, learningRate: null } },
  { event: "checkpoint.saved", data: { ...SAVED, kind: "lora" } },
  ...[
    "/etc",
    "step-3",
    "artifacts",
    "artifacts/../..",
    "artifacts/./a",
    "artifacts//a",
    "artifacts/..",
    "artifacts\\a",
  ].map((path) => ({ event: "checkpoint.saved", data: { ...SAVED, path } })),
])("anything else is refused with one clear sentence: %j", (reported) => {
  expect(() => asEngineEvent("mine", reported)).toThrow(
    /^The engine mine reported .*, which is not an event of a job\. Update Kit and the engine to compatible versions\.$/,
  );
});

test("a long report is cut in the error", () => {
  expect(() => asEngineEvent("mine", "x".repeat(10_000))).toThrow(/^.{1,400}$/);
});
