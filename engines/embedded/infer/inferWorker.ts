import { setImmediate } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import { tree } from "@jax-js/jax";
import type { InferResult } from "../../../protocol/infer.ts";
import type { ModelShape } from "../../../protocol/trainConfig.ts";
import { startBackend } from "../model/backend.ts";
import { readCheckpoint } from "../../checkpoint/checkpoint.ts";
import { type Decoder, createDecoder } from "./decoder.ts";
import { type Generator, generate } from "./generate.ts";
import { type Answer, type Question, toFailure } from "../messages.ts";
import { toParams } from "../model/model.ts";

/** Holds models and answers questions about them, one after another. */
const models = new Map<number, Generator>();
const decoders = new Map<string, Decoder>();
const cancelled = new Set<number>();
let queue = startBackend();

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

async function work(question: Exclude<Question, { type: "cancel" }>): Promise<InferResult | null> {
  switch (question.type) {
    case "load":
      models.set(question.model, load(question.directory));
      return null;
    case "unload":
      tree.dispose(models.get(question.model)?.params);
      models.delete(question.model);
      return null;
    case "infer": {
      const model = models.get(question.model);
      if (!model) throw new Error("the model was closed");
      return generate(model, question.request, () => pause(question.id));
    }
  }
}

function load(directory: string): Generator {
  const { shape, weights, promptStyle } = readCheckpoint(directory);
  return { shape, promptStyle, params: toParams(weights), decoder: decoderFor(shape) };
}

/** Compiled steps are shared by all models of a shape, such as a job's checkpoints. */
function decoderFor({ layers, heads, width, context }: ModelShape): Decoder {
  const key = [layers, heads, width, context].join();
  const decoder = decoders.get(key) ?? createDecoder({ layers, heads, width, context });
  decoders.set(key, decoder);
  return decoder;
}

/** Lets messages in, so that a request can be cancelled while it is answered. */
async function pause(id: number): Promise<void> {
  await setImmediate();
  if (cancelled.has(id)) throw new Error("cancelled");
}
