import { setImmediate } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import type { InferResult } from "../../../protocol/infer.ts";
import { openCheckpoint } from "../../checkpoint/checkpoint.ts";
import type { Question as AnyQuestion } from "../../warmModels.ts";
import { type KernelModule, compileKernels } from "../kernels/module.ts";
import { type Answer, toFailure } from "../messages.ts";
import { fittedDecoder } from "./fittedDecoder.ts";
import { type Generator, generate, answerTokens } from "./generate.ts";

/** A model is loaded from its directory. */
type Question = AnyQuestion<string>;

/** Holds models and answers questions about them, one after another. */
const models = new Map<number, Generator>();
const cancelled = new Set<number>();
let kernels: KernelModule | undefined;
let queue: Promise<void> = Promise.resolve();

parentPort?.on("message", (question: Question) => {
  if (question.type === "cancel") cancelled.add(question.id);
  else queue = queue.then(() => reply(question));
});

async function reply(question: Exclude<Question, { type: "cancel" }>): Promise<void> {
  const { id } = question;
  let answer: Answer;
  try {
    answer = { id, ok: true, result: await work(question) };
  } catch (error) {
    answer = { id, ok: false, failure: toFailure(error) };
  }
  cancelled.delete(id);
  parentPort?.postMessage(answer);
}

async function work(
  question: Exclude<Question, { type: "cancel" }>,
): Promise<InferResult | undefined> {
  switch (question.type) {
    case "load":
      models.set(question.model, load(question.source));
      return undefined;
    case "unload":
      models.delete(question.model);
      return undefined;
    case "infer": {
      const model = models.get(question.model);
      if (!model) throw new Error("the model was closed");
      return generate(model, question.request, () => pause(question.id));
    }
  }
}

function load(directory: string): Generator {
  const { shape, weights, promptStyle, tokenizer } = openCheckpoint(directory);
  kernels ??= compileKernels();
  const fitted = fittedDecoder(kernels, shape, weights);
  return { ...fitted, promptStyle, tokenizer, allowed: answerTokens(tokenizer) };
}

/** Lets messages in, so that a request can be cancelled while it is answered. */
async function pause(id: number): Promise<void> {
  await setImmediate();
  if (cancelled.has(id)) throw new Error("cancelled");
}
