import { join } from "node:path";
import { ARTIFACTS } from "../../protocol/artifactPath.ts";
import type { TrainOptions } from "../../protocol/engine.ts";
import type { EngineEvent } from "../../protocol/event.ts";
import { removePartial } from "../checkpoint/directory.ts";
import { skippedRowsAdvice } from "../dataset/rowLimit.ts";
import { resolveModel } from "../families/modelSource.ts";
import { startChild, throwIfFailed } from "./child.ts";
import { customCodeCheck } from "./customCodeCheck.ts";
import { createJob } from "./job.ts";
import type { Hello, PythonJob, PythonMessage, SkippedRows } from "./messages.ts";
import type { Python } from "./python.ts";

/** Trains in a subprocess, which has exited once this settles. */
export async function train(python: Python, options: TrainOptions): Promise<void> {
  const { directory, signal, onNote } = options;
  signal.throwIfAborted();
  const interpreter = python.find();
  const job = await createJob({ ...options, check: customCodeCheck(python, options) });
  const failed = new AbortController();
  const child = startChild("train", {
    interpreter,
    env: python.env,
    job,
    onMessage(message) {
      if (signal.aborted || failed.signal.aborted) return;
      try {
        const event = eventOf(message, job);
        if (event) options.onEvent(event);
        else if (message.type === "note") onNote?.(message.text);
        else if (message.type === "hello") onNote?.(describe(message, `from ${interpreter.from}`));
      } catch (error) {
        failed.abort(error);
      }
    },
  });
  const stop = () => void child.stop();
  const anyAbort = AbortSignal.any([signal, failed.signal]);
  if (anyAbort.aborted) stop();
  anyAbort.addEventListener("abort", stop, { once: true });
  try {
    const last = await child.ended;
    anyAbort.throwIfAborted();
    throwIfFailed(last);
  } catch (error) {
    // An abort takes precedence over the process's own failure.
    anyAbort.throwIfAborted();
    throw error;
  } finally {
    anyAbort.removeEventListener("abort", stop);
    removePartial(join(directory, ARTIFACTS));
  }
}

function eventOf(message: PythonMessage, job: PythonJob): EngineEvent | undefined {
  if (message.type === "event") return message.event;
  if (message.type !== "started") return undefined;
  const data = withAdvice(message.data, message.skipped, job);
  return { event: "training.started", data };
}

/** Adds advice on which options would keep skipped rows. */
export function withAdvice<T extends { maxLength?: number | undefined }>(
  started: T,
  skipped: SkippedRows,
  { config: { model, maxLength } }: Pick<PythonJob, "config">,
): T & { keepLeftOut?: string } {
  const source = resolveModel(model);
  const shape = source.kind === "untrained" ? source.dimensions : undefined;
  const limit = started.maxLength ?? skipped.context;
  const option = limit < skipped.context ? limit : maxLength;
  const advice = skippedRowsAdvice({ ...skipped, maxLength: option, shape });
  return advice === undefined ? started : { ...started, keepLeftOut: advice };
}

/** Describes Python and its packages for people. @param origin of the interpreter: `from .venv` */
export function describe({ python, executable, packages }: Hello, origin: string): string {
  const versions = Object.entries({ Python: python, ...packages });
  const list = versions.map(([name, version]) => `${name} ${version}`).join(", ");
  return `${list} (${executable}, ${origin})`;
}
