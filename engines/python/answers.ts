import type { LoadOptions } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import { withoutForms } from "../answers/withoutForms.ts";
import { type Listener, createWarmModels } from "../warmModels.ts";
import { startChild } from "./child.ts";
import type { PythonMessage } from "./messages.ts";
import { type ModelFolders, findFolders } from "./model.ts";
import type { Python } from "./python.ts";
import { refuseCode } from "./refuseCode.ts";

/** Loads models, by their directories, in one process. */
export function createAnswers(python: Python) {
  const { load } = createWarmModels<ModelFolders>((listener) => start(python, listener));
  return {
    async load(directory: string, options?: LoadOptions) {
      assertUnquantized(options);
      const check = refuseCode(python, options?.signal);
      return withoutForms(await load(await findFolders(directory, { ...options, check })));
    },
  };
}

/** @throws KitError `OPTION_INVALID` */
export function assertUnquantized(options?: LoadOptions): void {
  if (options?.quantize === undefined) return;
  throw new KitError(
    "OPTION_INVALID",
    "Python answers with the model's own numbers. Remove quantize, or let the embedded engine answer.",
  );
}

function start(python: Python, { onAnswer, onEnd }: Listener) {
  const child = startChild("answer", {
    ...{ interpreter: python.find(), env: python.env, job: { bf16: python.bf16 } },
    onMessage: (message) => message.type === "answer" && pass(message, onAnswer),
  });
  child.ended.then((last) => onEnd(endedBy(last)), onEnd);
  return { send: child.send, ref: child.ref, stop: () => void child.stop() };
}

/** Passes an answer on. */
export function pass(
  { id, result, failure }: Extract<PythonMessage, { type: "answer" }>,
  onAnswer: Listener["onAnswer"],
): void {
  onAnswer(id, failure ? new KitError(failure.code, failure.message) : result);
}

function endedBy(last: PythonMessage): KitError {
  if (last.type === "failed") return new KitError(last.code, last.message);
  return new KitError("WORKER_FAILED", "The Python process that answers has ended. Try again.");
}
