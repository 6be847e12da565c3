import { Worker, parentPort } from "node:worker_threads";
import type { InferPiece, InferResult } from "../../../protocol/infer.ts";
import { openCheckpoint } from "../../checkpoint/checkpoint.ts";
import { weightCounts } from "../../families/randomWeights.ts";
import type { Question as AnyQuestion } from "../../warmModels.ts";
import { type KernelModule, compileKernels } from "../kernels/module.ts";
import { threadCount } from "../kernels/threadCount.ts";
import { type Answer, type Told, startThread, toFailure } from "../messages.ts";
import { answerTokens, createAnswers } from "./answers.ts";
import type { DecoderInvitation } from "./decoder.ts";
import { fittedDecoder } from "./fittedDecoder.ts";
import type { StoredModel } from "./inferThread.ts";

type Question = AnyQuestion<StoredModel>;

interface Model {
  answer: ReturnType<typeof createAnswers>["answer"];
  /** Answers that are not given yet. */
  open: Set<Promise<InferResult>>;
  helpers: Worker[];
}

/** Holds models and answers questions about them, several at once. */
const models = new Map<number, Model>();
const cancelled = new Set<number>();
let kernels: KernelModule | undefined;

parentPort?.on("message", (question: Question) => {
  if (question.type === "cancel") cancelled.add(question.id);
  else void reply(question);
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
  tellPieces();
  tell(answer);
}

/** Parts of answers that nobody has been told of. */
let pieces: { id: number; piece: InferPiece }[] = [];

/** Tells the parts of all answers that a step finds in one message. */
function addPiece(id: number, piece: InferPiece): void {
  if (pieces.length === 0) queueMicrotask(tellPieces);
  pieces.push({ id, piece });
}

function tellPieces(): void {
  if (pieces.length > 0) tell({ pieces });
  pieces = [];
}

function tell(told: Told): void {
  parentPort?.postMessage(told);
}

async function work(
  question: Exclude<Question, { type: "cancel" }>,
): Promise<InferResult | undefined> {
  switch (question.type) {
    case "load":
      models.set(question.model, load(question.source));
      return undefined;
    case "unload":
      return unload(question.model);
    case "infer": {
      const model = models.get(question.model);
      if (!model) throw new Error("the model was closed");
      const { id, request, isStreamed } = question;
      const answer = model.answer(request, {
        isCancelled: () => cancelled.has(id),
        ...(isStreamed && { onPiece: (piece) => addPiece(id, piece) }),
      });
      model.open.add(answer);
      return answer.finally(() => model.open.delete(answer));
    }
  }
}

/** Of fewer numbers, a token is done before a helper has woken up. */
const LEAST_SHARED_NUMBERS = 4e6;

function load({ directory, quantize }: StoredModel): Model {
  const { shape, weights, promptStyle, tokenizer } = openCheckpoint(directory);
  kernels ??= compileKernels();
  const isShared = weightCounts(shape).numbers >= LEAST_SHARED_NUMBERS;
  const threads = isShared ? threadCount() : 1;
  const helpers: Worker[] = [];
  const fitted = fittedDecoder(kernels, shape, weights, {
    ...{ allowed: answerTokens(tokenizer), threads, quantize },
    invite(invitation) {
      for (let i = 1; i < threads; i++) helpers.push(startHelper(invitation));
    },
  });
  const { answer } = createAnswers({ ...fitted, promptStyle, tokenizer });
  return { answer, open: new Set(), helpers };
}

/** A thread that takes part in each step from the first after it has come. */
function startHelper(invitation: DecoderInvitation): Worker {
  const helper = startThread(
    () => new Worker(new URL("./decoderWorker.js", import.meta.url), { execArgv: [] }),
    "Set KIT_THREADS=1 to answer without helpers, end other programs",
  );
  // Without it, as where its file was left out of a bundle, the others answer alone.
  helper.on("error", () => undefined);
  helper.postMessage(invitation);
  helper.unref();
  return helper;
}

/** After the questions that were asked before. */
async function unload(number: number): Promise<undefined> {
  const model = models.get(number);
  models.delete(number);
  await Promise.allSettled([...(model?.open ?? [])]);
  await Promise.all(model?.helpers.map((helper) => helper.terminate()) ?? []);
}
