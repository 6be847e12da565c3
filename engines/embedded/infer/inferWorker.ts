import { setImmediate } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import type { InferPiece, InferResult } from "../../../protocol/infer.ts";
import { parseJson } from "../../../protocol/json.ts";
import { createAnswers } from "../../answers/answers.ts";
import type { Question as AnyQuestion } from "../../answers/warmModels.ts";
import { type Answer, type Told, toFailure } from "../messages.ts";
import { createBases } from "./bases.ts";
import { startHelpers } from "./helpers.ts";
import type { StoredModel } from "./inferThread.ts";

type Question = Exclude<AnyQuestion<StoredModel>, { type: "cancel" }>;

interface Model {
  answer: ReturnType<typeof createAnswers>["answer"];
  /** Answers that are not given yet. */
  open: Set<Promise<InferResult>>;
  close: () => Promise<void>;
}

/** Holds models and answers questions about them, several at once. */
const models = new Map<number, Model>();
const cancelled = new Set<number>();
const bases = createBases(startHelpers);

/** Takes a question as JSON, or the id of one to cancel. */
parentPort?.on("message", (message: string | number) => {
  if (typeof message === "number") cancelled.add(message);
  else void reply(message);
});

async function reply(json: string): Promise<void> {
  await nextTurn();
  const question = parseJson(json) as Question;
  const { id } = question;
  let answer: Answer;
  try {
    answer = { id, ok: true, result: await work(question) };
  } catch (error) {
    answer = { id, ok: false, failure: toFailure(error, "answers") };
  }
  cancelled.delete(id);
  tellPieces();
  tell(answer);
}

/** Pieces of answers not sent yet. */
let pieces: { id: number; piece: InferPiece }[] = [];

/** Sends the pieces that a step adds to all answers in one message. */
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

/** How long to prepare requests before looking for cancellations, in ms. */
const TURN_MS = 20;
let turn = Promise.resolve();
let looked = 0;

/** Lets steps and cancellations in before a request is read and prepared: a long one takes long. */
function nextTurn(): Promise<void> {
  turn = turn.then(async () => {
    if (performance.now() - looked < TURN_MS) return;
    await setImmediate();
    looked = performance.now();
  });
  return turn;
}

async function work(question: Question): Promise<InferResult | undefined> {
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
      if (cancelled.has(id)) throw new Error("cancelled");
      const answer = model.answer(request, {
        isCancelled: () => cancelled.has(id),
        ...(isStreamed && { onPiece: (piece) => addPiece(id, piece) }),
      });
      model.open.add(answer);
      return answer.finally(() => model.open.delete(answer));
    }
  }
}

function load(source: StoredModel): Model {
  const { base, promptStyle, tokenizer, adapter, close } = bases.load(source);
  const { answer } = createAnswers({
    ...{ ...base, promptStyle, tokenizer },
    read: (reader) => base.scheduler.read({ ...reader, adapter }),
  });
  return { answer, open: new Set(), close };
}

/** After the questions that were asked before. */
async function unload(number: number): Promise<undefined> {
  const model = models.get(number);
  models.delete(number);
  await Promise.allSettled([...(model?.open ?? [])]);
  await model?.close();
}
