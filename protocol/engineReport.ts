import * as v from "valibot";
import { KitError } from "./error.ts";
import { type Artifact, type EngineEvent, ENGINE_EVENTS } from "./event.ts";
import { EVENT_SCHEMAS } from "./eventSchemas.ts";
import type { InferDelta, InferResult } from "./infer.ts";
import { isRecord } from "./isRecord.ts";
import { stringifyJson } from "./json.ts";
import type { RepeatedRows, TrainingCheck } from "./trainingCheck.ts";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const toolCall = v.object({
  id: v.optional(v.string()),
  type: v.optional(v.literal("function")),
  function: v.object({
    name: v.string(),
    arguments: v.union([v.string(), v.record(v.string(), v.unknown())]),
  }),
});
const toolCalls = v.array(toolCall);

const logprob = v.object({ token: v.string(), bytes: v.array(v.number()), logprob: v.number() });
const logprobs = v.array(v.object({ ...logprob.entries, top: v.array(logprob) }));

const RESULT = v.object({
  text: v.string(),
  finishReason: v.picklist(["stop", "length", "toolCalls"]),
  promptTokens: count,
  cachedTokens: v.optional(count),
  tokens: count,
  toolCalls: v.optional(toolCalls),
  truncatedCall: v.optional(toolCall),
  choices: v.optional(v.array(v.object({ text: v.string(), probability: v.number() }))),
  value: v.optional(v.unknown()),
  logprobs: v.optional(logprobs),
}) satisfies v.GenericSchema<InferResult>;

const DELTA = v.object({
  text: v.string(),
  toolCalls: v.optional(toolCalls),
  logprobs: v.optional(logprobs),
}) satisfies v.GenericSchema<InferDelta>;

const repeated = v.object({
  rows: count,
  first: v.optional(v.tuple([v.string(), v.string()])),
}) satisfies v.GenericSchema<RepeatedRows>;

const DATASET = v.object({
  forms: v.record(v.string(), count),
  tokens: v.object({ least: count, median: count, p95: count, most: count }),
  duplicates: repeated,
  leaked: v.optional(repeated),
  answers: v.optional(v.array(v.object({ text: v.string(), count }))),
  json: v.optional(v.object({ answers: count, broken: count, first: v.optional(v.string()) })),
});

const segments = v.array(
  v.object({
    text: v.string(),
    isLearned: v.boolean(),
    isSpecial: v.boolean(),
    isAvoided: v.optional(v.literal(true)),
  }),
);

const CHECK = v.object({
  started: EVENT_SCHEMAS["training.started"],
  learnedTokens: count,
  longestRow: count,
  memoryBytes: count,
  onGpu: v.optional(v.literal(true)),
  dataset: v.optional(DATASET),
  hardest: v.optional(v.array(v.object({ where: v.string(), loss: v.number(), row: segments }))),
  firstRow: segments,
}) satisfies v.GenericSchema<TrainingCheck>;

/**
 * Validates an engine's report of an event. Pure.
 * @param engine the engine's name
 * @throws KitError `ENGINE_REPORT_INVALID`
 */
export function asEngineEvent(engine: string, report: unknown): EngineEvent {
  const { event, data } = isRecord(report) ? report : {};
  const isKnown = (ENGINE_EVENTS as readonly unknown[]).includes(event);
  if (isKnown && v.is(EVENT_SCHEMAS[event as EngineEvent["event"]], data)) {
    return report as EngineEvent;
  }
  throw invalidReport(`${engine} reported`, report, "an event of a job");
}

/**
 * @param engine the engine's name
 * @throws KitError `ENGINE_REPORT_INVALID`
 */
export function asTrainingCheck(engine: string, report: unknown): TrainingCheck {
  if (v.is(CHECK, report)) return report;
  throw invalidReport(`${engine} reported`, report, "a valid training check");
}

export function isArtifact(value: unknown): value is Artifact {
  return v.is(EVENT_SCHEMAS["checkpoint.saved"], value);
}

/**
 * @param engine the engine's name
 * @throws KitError `ENGINE_REPORT_INVALID`
 */
export function asInferResult(engine: string, answer: unknown): InferResult {
  if (v.is(RESULT, answer)) return answer;
  throw invalidReport(`${engine} answered`, answer, "an answer");
}

/**
 * @param engine the engine's name
 * @throws KitError `ENGINE_REPORT_INVALID`
 */
export function asInferDelta(engine: string, report: unknown): InferDelta {
  if (v.is(DELTA, report)) return report;
  throw invalidReport(`${engine} answered`, report, "a part of an answer");
}

/** Characters of a report shown in an error. */
const MAX_SHOWN_LENGTH = 200;

/** @param report subject and verb: `python reported` */
export function invalidReport(report: string, value: unknown, expected: string): KitError {
  const text = String(stringifyJson(value)).slice(0, MAX_SHOWN_LENGTH);
  return new KitError(
    "ENGINE_REPORT_INVALID",
    `The engine ${report} ${text}, which is not ${expected}. Update Kit and the engine to compatible versions.`,
  );
}
