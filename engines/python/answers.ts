import type { LoadOptions } from "../../protocol/engine.ts";
import { KitError } from "../../protocol/error.ts";
import { type ModelHost, type HostCallbacks, createHostedModels } from "../answers/modelHost.ts";
import { startChild } from "./child.ts";
import { customCodeCheck } from "./customCodeCheck.ts";
import type { PythonMessage } from "./messages.ts";
import { type ModelFolders, findFolders } from "./model.ts";
import { createPendingRequests } from "./pendingRequests.ts";
import type { Python } from "./python.ts";

/** Loads models in a single process. */
export function createModelLoader(python: Python) {
  /** Receives the process's notes; set by the latest load. */
  let note: LoadOptions["onNote"];
  const onNote = (text: string) => note?.(text);
  const { load } = createHostedModels<ModelFolders>((callbacks) =>
    start(python, callbacks, onNote),
  );
  return {
    async load(directory: string, options?: LoadOptions) {
      assertUnquantized(options);
      const check = customCodeCheck(python, options);
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
      if (message.type === "tokens") requests.receiveTokens(message);
      else if (message.type === "answer") requests.receiveAnswer(message);
      else if (message.type === "note") onNote(message.text);
    },
  });
  const requests = createPendingRequests(child.send, callbacks);
  child.ended.then((lastMessage) => callbacks.onEnd(endedBy(lastMessage)), callbacks.onEnd);
  return { send: requests.submit, setRef: child.setRef, stop: () => void child.stop() };
}

function endedBy(lastMessage: PythonMessage): KitError {
  if (lastMessage.type === "failed") return new KitError(lastMessage.code, lastMessage.message);
  return new KitError("WORKER_FAILED", "The Python engine's process exited. Try again.");
}
