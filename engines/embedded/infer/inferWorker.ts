import { setImmediate } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import type { InferDelta, InferResult } from "../../../protocol/infer.ts";
import { parseJson } from "../../../protocol/json.ts";
import { createAnswers } from "../../answers/answers.ts";
import type { HostRequest as AnyHostRequest } from "../../answers/modelHost.ts";
import { type Answer, type InferMessage, toFailure } from "../messages.ts";
import { startHelpers } from "./helpers.ts";
import type { StoredModel } from "./inferThread.ts";
import { createModelCache } from "./modelCache.ts";

type HostRequest = Exclude<AnyHostRequest<StoredModel>, { type: "cancel" }>;

interface Model {
  answer: ReturnType<typeof createAnswers>["answer"];
  /** Answers in progress. */
  pending: Set<Promise<InferResult>>;
  close: () => Promise<void>;
}

const models = new Map<number, Model>();
const cancelled = new Set<number>();
const modelCache = createModelCache(startHelpers);

/** A message is a request as JSON, or the id of a request to cancel. */
parentPort?.on("message", (message: string | number) => {
  if (typeof message === "number") cancelled.add(message);
  else void reply(message);
});

async function reply(json: string): Promise<void> {
  await yieldToMessages();
  const message = parseJson(json) as HostRequest;
  const { id } = message;
  let answer: Answer;
  try {
    answer = { id, ok: true, result: await work(message) };
  } catch (error) {
    answer = { id, ok: false, failure: toFailure(error, "answers") };
  }
  cancelled.delete(id);
  sendDeltas();
  send(answer);
}

/** Deltas not sent yet. */
let deltas: { id: number; delta: InferDelta }[] = [];

/** Batches the deltas of a step into one message. */
function addDelta(id: number, delta: InferDelta): void {
  if (deltas.length === 0) queueMicrotask(sendDeltas);
  deltas.push({ id, delta });
}

function sendDeltas(): void {
  if (deltas.length > 0) send({ deltas });
  deltas = [];
}

function send(message: InferMessage): void {
  parentPort?.postMessage(message);
}

/** How long to prepare requests before yielding to cancellations, in ms. */
const YIELD_MS = 20;
let yielded = Promise.resolve();
let lastYield = 0;

/** Lets steps and cancellations run before a request is parsed and prepared, which may take a while. */
function yieldToMessages(): Promise<void> {
  yielded = yielded.then(async () => {
    if (performance.now() - lastYield < YIELD_MS) return;
    await setImmediate();
    lastYield = performance.now();
  });
  return yielded;
}

async function work(message: HostRequest): Promise<InferResult | undefined> {
  switch (message.type) {
    case "load":
      models.set(message.model, load(message.source));
      return undefined;
    case "unload":
      return unload(message.model);
    case "infer": {
      const model = models.get(message.model);
      if (!model) throw new Error("the model was closed");
      const { id, request, isStreamed } = message;
      if (cancelled.has(id)) throw new Error("cancelled");
      const answer = model.answer(request, {
        isCancelled: () => cancelled.has(id),
        ...(isStreamed && { onDelta: (delta) => addDelta(id, delta) }),
      });
      model.pending.add(answer);
      return answer.finally(() => model.pending.delete(answer));
    }
  }
}

function load(source: StoredModel): Model {
  const { base, promptStyle, tokenizer, adapter, close } = modelCache.load(source);
  const { answer } = createAnswers({
    ...base,
    promptStyle,
    tokenizer,
    read: (reader) => base.scheduler.read({ ...reader, adapter }),
  });
  return { answer, pending: new Set(), close };
}

/** Unloads a model once its answers in progress are done. */
async function unload(number: number): Promise<undefined> {
  const model = models.get(number);
  models.delete(number);
  await Promise.allSettled([...(model?.pending ?? [])]);
  await model?.close();
}
