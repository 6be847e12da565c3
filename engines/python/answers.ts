import type { LoadOptions } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import { type ModelHost, type HostCallbacks, createHostedModels } from "../answers/modelHost.ts";
import { startChild } from "./child.ts";
import type { PythonMessage } from "./messages.ts";
import { type ModelFolders, findFolders } from "./model.ts";
import { createPendingRequests } from "./pendingRequests.ts";
import type { Python } from "./python.ts";
import { refuseCode } from "./refuseCode.ts";

/** Loads models in a single process. */
export function createAnswers(python: Python) {
  /** Takes the notes of the process, for the model loaded last. */
  let note: LoadOptions["onNote"];
  const onNote = (text: string) => note?.(text);
  const { load } = createHostedModels<ModelFolders>((callbacks) =>
    start(python, callbacks, onNote),
  );
  return {
    async load(directory: string, options?: LoadOptions) {
      assertUnquantized(options);
      const check = refuseCode(python, options);
      note = options?.onNote;
      return load(await findFolders(directory, { ...options, check }));
    },
  };
}

/** @throws KitError `OPTION_INVALID` */
export function assertUnquantized(options?: LoadOptions): void {
  if (options?.quantize === undefined) return;
  throw new KitError(
    "OPTION_INVALID",
    "The Python engine can't quantize. Remove quantize, or use the embedded engine.",
  );
}

function start(
  python: Python,
  callbacks: HostCallbacks,
  onNote: (text: string) => void,
): ModelHost<ModelFolders> {
  const child = startChild("answer", {
    interpreter: python.find(),
    env: python.env,
    job: { bf16: python.bf16 },
    onMessage(message) {
      if (message.type === "tokens") answers.takeTokens(message);
      else if (message.type === "answer") answers.takeAnswer(message);
      else if (message.type === "note") onNote(message.text);
    },
  });
  const answers = createPendingRequests(child.send, callbacks);
  child.ended.then((last) => callbacks.onEnd(endedBy(last)), callbacks.onEnd);
  return { send: answers.ask, setRef: child.setRef, stop: () => void child.stop() };
}

function endedBy(last: PythonMessage): KitError {
  if (last.type === "failed") return new KitError(last.code, last.message);
  return new KitError("WORKER_FAILED", "The Python engine's process exited. Try again.");
}
