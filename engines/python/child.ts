import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import { ownFile } from "../../disk/ownFile.ts";
import { describeEnd } from "../../disk/processEnd.ts";
import { hasGroups, signalTree } from "../../disk/processTree.ts";
import { KitError } from "../../protocol/error.ts";
import { stringifyJson } from "../../protocol/json.ts";
import { setAwakeTimeout } from "../../protocol/sleep.ts";
import type { Interpreter } from "./interpreter.ts";
import { createLineSplitter } from "./lines.ts";
import { type PythonMessage, parseMessage } from "./messages.ts";

/** How long a process may take to exit by itself, in ms. */
const GRACE_MS = 5_000;
/** How long to wait for more output after the process exited, in ms. */
const SILENCE_MS = 1_000;

export type Mode = "train" | "check" | "config" | "answer";

/** A Python process of the engine. */
export interface Child {
  send: (message: object) => void;
  /** Settles once the process has exited; resolves with its last message. */
  ended: Promise<PythonMessage>;
  /** Asks the process to exit, then kills its tree. Resolves once it has exited. */
  stop: () => Promise<void>;
  /** Sets whether the child keeps this process alive. */
  setRef: (on: boolean) => void;
}

export interface ChildOptions {
  interpreter: Interpreter;
  env: NodeJS.ProcessEnv;
  /** The first line. */
  job: object;
  /** Takes all messages but the last. */
  onMessage: (message: PythonMessage) => void;
}

/**
 * Starts the engine. Library output goes to this process's stderr.
 */
export function startChild(mode: Mode, { interpreter, env, job, onMessage }: ChildOptions): Child {
  const program = ownFile(new URL("./run.py", import.meta.url), "kit_engine/main.py");
  // -B: the package's folder may be read-only. -u: unbuffered output.
  const child = spawn(interpreter.path, ["-B", "-u", program, mode], {
    stdio: ["pipe", "pipe", "inherit"],
    // Windows' own encoding can't write every text. Kit has already downloaded everything.
    env: { TOKENIZERS_PARALLELISM: "false", PYTHONUTF8: "1", ...env, HF_HUB_OFFLINE: "1" },
    // Ctrl-C must not end it.
    detached: hasGroups(),
    windowsHide: true,
  });
  let last: PythonMessage | undefined;
  const split = createLineSplitter();
  child.stdout.on("data", (chunk: Buffer) => {
    for (const message of split(chunk).map(parseMessage)) {
      if (message && isLast(message)) last = message;
      else if (message) onMessage(message);
    }
  });
  // The process's exit explains more than a closed pipe.
  child.stdin.on("error", () => {});
  const send = (message: object) => void child.stdin.write(`${stringifyJson(message)}\n`);

  const ended = new Promise<PythonMessage>((resolve, reject) => {
    child.once("error", (cause) => reject(notStarted(interpreter, cause)));
    // The child's own children would hold its stdout open.
    child.once("exit", () => {
      kill();
      // A process that left the group may still do so.
      (child.stdout as Socket).setTimeout(SILENCE_MS, () => child.stdout.destroy());
    });
    child.once("close", (code, signal) => {
      if (last) resolve(last);
      else reject(endedEarly(signal ?? undefined, code ?? 0));
    });
  });
  // Avoids an unhandled rejection: callers await it only later.
  ended.catch(() => {});
  send(job);

  const kill = () => signalTree(child, "SIGKILL");

  async function stop() {
    send({ type: "cancel" });
    child.stdin.end();
    const timer = setAwakeTimeout(kill, GRACE_MS);
    await ended.catch(() => {});
    clearTimeout(timer);
  }

  function setRef(on: boolean) {
    for (const handle of [child, child.stdin, child.stdout] as { ref(): void; unref(): void }[]) {
      if (on) handle.ref();
      else handle.unref();
    }
  }
  return { send, ended, stop, setRef };
}

/** @throws KitError for a last message of type `failed` */
export function throwIfFailed(message: PythonMessage): void {
  if (message.type === "failed") throw new KitError(message.code, message.message);
}

function isLast({ type }: PythonMessage): boolean {
  return type === "done" || type === "failed" || type === "cancelled";
}

function notStarted({ path, from }: Interpreter, cause: Error): KitError {
  return new KitError(
    "PYTHON_NOT_FOUND",
    `The Python at ${path} (from ${from}) cannot be run: ${cause.message}. Set another with python({ path }).`,
    { cause },
  );
}

function endedEarly(signal: string | undefined, code: number): KitError {
  if (signal !== undefined) {
    return new KitError(
      "WORKER_FAILED",
      `The Python process was killed by ${signal}. Try again; if memory ran out, use a smaller batchSize, maxLength or model.`,
    );
  }
  return new KitError(
    "WORKER_FAILED",
    `The Python process exited unexpectedly (${describeEnd(code)}). See its output above.`,
  );
}
