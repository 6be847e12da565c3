import { isArtifactPath } from "./artifactPath.ts";
import { KitError } from "./error.ts";
import type { Artifact, EngineEvent, EventData } from "./event.ts";
import type { InferResult } from "./infer.ts";
import { isRecord } from "./isRecord.ts";
import type { Piece, TrainingCheck } from "./trainingCheck.ts";

type Check = (value: unknown) => boolean;
type Fields<T> = { [Name in keyof T]-?: Check };

const isText: Check = (value) => typeof value === "string";
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isNumber: Check = (value) => typeof value === "number";

function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

/** A number, or null for one that is not finite. */
const isFigure: Check = (value) => value === null || isNumber(value);
const isMeasured = optional(isFigure);

/** Names of people's making, that are shown as they are. */
const METRIC_NAME = /^[a-z][A-Za-z0-9]{0,63}$/;
const MOST_METRICS = 100;

function isMetrics(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= MOST_METRICS &&
    entries.every(([name, figure]) => METRIC_NAME.test(name) && isFigure(figure))
  );
}

const EVENTS: { [Name in EngineEvent["event"]]: Fields<EventData[Name]> } = {
  "training.started": {
    model: isText,
    parameters: isCount,
    rows: isCount,
    evalRows: optional(isCount),
    cut: optional(isCount),
    leftOut: optional(isCount),
    evalCut: optional(isCount),
    evalLeftOut: optional(isCount),
    maxLength: optional(isCount),
    keepLeftOut: optional(isText),
    format: optional(isText),
    tokens: optional(isCount),
    fingerprint: optional(isText),
    evalFingerprint: optional(isText),
    maxSteps: isCount,
    resumedFrom: optional(isText),
    resumedStep: optional(isCount),
    resumedBest: optional((value) => fits(value, { step: isCount, evalLoss: isNumber })),
    epochs: optional(isNumber),
  },
  "training.log": {
    step: isCount,
    loss: isMeasured,
    evalLoss: isMeasured,
    learningRate: optional(isNumber),
    gradNorm: isMeasured,
    epoch: optional(isNumber),
    tokensPerSecond: optional(isNumber),
    metrics: optional(isMetrics),
  },
  "checkpoint.saved": {
    step: isCount,
    kind: (value) => value === "model" || value === "adapter",
    path: isArtifactPath,
  },
};

const RESULT: Fields<InferResult> = {
  text: isText,
  finishReason: (value) => value === "stop" || value === "length",
  tokens: isCount,
};

/**
 * An engine's report as an event of a job. Pure.
 * @param engine the engine's name
 * @throws KitError `ENGINE_REPORT_INVALID`
 */
export function asEngineEvent(engine: string, reported: unknown): EngineEvent {
  const { event, data } = isRecord(reported) ? reported : {};
  const isKnown = typeof event === "string" && Object.hasOwn(EVENTS, event);
  if (isKnown && fits(data, EVENTS[event as EngineEvent["event"]])) return reported as EngineEvent;
  throw invalidReport(`${engine} reported`, reported, "an event of a job");
}

const CHECK: Fields<TrainingCheck> = {
  started: (value) => fits(value, EVENTS["training.started"]),
  learnedTokens: isCount,
  longestRow: isCount,
  memoryBytes: isCount,
  firstRow: (value) => Array.isArray(value) && value.every((piece) => fits(piece, PIECE)),
};

const isBoolean: Check = (value) => typeof value === "boolean";
const PIECE: Fields<Piece> = { text: isText, isLearned: isBoolean, isSpecial: isBoolean };

/**
 * @param engine the engine's name
 * @throws KitError `ENGINE_REPORT_INVALID`
 */
export function asTrainingCheck(engine: string, reported: unknown): TrainingCheck {
  if (fits(reported, CHECK)) return reported as TrainingCheck;
  throw invalidReport(`${engine} reported`, reported, "a valid training check");
}

export function isArtifact(value: unknown): value is Artifact {
  return fits(value, EVENTS["checkpoint.saved"]);
}

/**
 * @param engine the engine's name
 * @throws KitError `ENGINE_REPORT_INVALID`
 */
export function asInferResult(engine: string, answered: unknown): InferResult {
  if (fits(answered, RESULT)) return answered as InferResult;
  throw invalidReport(`${engine} answered`, answered, "an answer");
}

function fits(value: unknown, fields: Record<string, Check>): boolean {
  if (!isRecord(value)) return false;
  return Object.entries(fields).every(([name, check]) => check(value[name]));
}

/** Enough characters to recognise the report. */
const SHOWN_LENGTH = 200;

/** @param report what the engine did, after its name */
export function invalidReport(report: string, found: unknown, expected: string): KitError {
  const text = String(JSON.stringify(found)).slice(0, SHOWN_LENGTH);
  return new KitError(
    "ENGINE_REPORT_INVALID",
    `The engine ${report} ${text}, which is not ${expected}. Update Kit and the engine to compatible versions.`,
  );
}
