import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { removePartial } from "../../../engines/checkpoint/directory.ts";
import { rowLimit } from "../../../engines/dataset/rowLimit.ts";
import { resolveModel } from "../../../engines/families/modelSource.ts";
import { withDefaults } from "../../../engines/training/defaults.ts";
import type { CheckOptions, Engine, EngineModel, TrainOptions } from "../../../protocol/engine.ts";
import { type ErrorCode, type RequestFault, KitError } from "../../../protocol/error.ts";
import type { EngineEvent } from "../../../protocol/event.ts";
import type { InferDelta, InferResult } from "../../../protocol/infer.ts";
import { parseJson, stringifyJson, withPlainNumbers } from "../../../protocol/json.ts";
import type { TrainingCheck } from "../../../protocol/trainingCheck.ts";

const PROGRAM = fileURLToPath(new URL("program.mjs", import.meta.url));

/** A line that the program prints; `done` and `failed` are its last. */
type Report =
  | { type: "event"; event: EngineEvent }
  | { type: "piece"; piece: InferDelta }
  | { type: "answer"; result: InferResult }
  | { type: "refused"; code: ErrorCode; message: string; fault?: RequestFault }
  | { type: "check"; check: TrainingCheck }
  | { type: "done" }
  | { type: "failed"; code: ErrorCode; message: string };

/**
 * A second engine, which is another program: it speaks in lines of JSON and trains a Llama without
 * its blocks, by Adam. Small enough to read, real enough to hold the contract.
 */
export function createSeparateEngine(): Engine {
  return { name: "separate", prepare, check, train, load };
}

const prepare: Engine["prepare"] = (asked) => {
  const config = withDefaults(asked, { name: "separate" });
  const source = resolveModel(config.model);
  if (config.lora) {
    throw new KitError(
      "CONFIG_INVALID",
      '"lora.targetModules" must name some of none: this engine trains whole models.',
    );
  }
  if (source.kind === "untrained") rowLimit(config.maxLength, source.dimensions.context);
  return config;
};

async function check({ config }: CheckOptions): Promise<TrainingCheck> {
  const program = start({ type: "check", config });
  for await (const report of reportsOf(program)) {
    if (report.type === "check") return report.check;
  }
  throw new KitError("WORKER_FAILED", "The program ended by itself. Try again.");
}

async function train({
  config,
  directory,
  resumeFrom,
  signal,
  onEvent,
}: TrainOptions): Promise<void> {
  signal.throwIfAborted();
  const program = start({ type: "train", config, directory, resumeFrom });
  const exited = once(program, "exit");
  const kill = () => program.kill("SIGKILL");
  signal.addEventListener("abort", kill);
  try {
    for await (const report of reportsOf(program)) {
      // Lines that were printed before the kill may still come.
      signal.throwIfAborted();
      if (report.type === "event") onEvent(report.event);
      else if (report.type === "done") return;
    }
    signal.throwIfAborted();
    throw new KitError("WORKER_FAILED", "The program exited unexpectedly. Try again.");
  } finally {
    signal.removeEventListener("abort", kill);
    kill();
    await exited;
    removePartial(join(directory, "artifacts"));
  }
}

async function load(directory: string): Promise<EngineModel> {
  const program = start({ type: "load", directory });
  const reports = reportsOf(program);
  await reports.next();
  let queue: Promise<unknown> = Promise.resolve();
  return {
    infer({ signal, ...request }, onDelta): Promise<InferResult> {
      const answer = queue.then(async () => {
        signal?.throwIfAborted();
        program.stdin?.write(`${stringifyJson(request)}\n`);
        for (;;) {
          const { value } = await reports.next();
          const report = value as Report | undefined;
          if (report?.type === "piece") {
            if (!signal?.aborted) onDelta?.(report.piece);
          } else if (report?.type === "answer") return report.result;
          else if (report?.type === "refused") {
            const { code, message, fault } = report;
            throw new KitError(code, message, { fault });
          } else throw new KitError("WORKER_FAILED", "The program ended by itself. Try again.");
        }
      });
      queue = answer.catch(() => undefined);
      const aborted = once(signal ?? new EventTarget(), "abort").then(() => {
        throw signal?.reason as Error;
      });
      return Promise.race([answer, aborted]);
    },
    async close() {
      if (program.exitCode !== null || program.signalCode !== null) return;
      program.kill();
      await once(program, "exit");
    },
  };
}

function start(job: object): ChildProcess {
  const program = spawn(process.execPath, [PROGRAM], { stdio: ["pipe", "pipe", "inherit"] });
  program.stdin?.write(`${JSON.stringify(job)}\n`);
  return program;
}

async function* reportsOf(program: ChildProcess): AsyncGenerator<Report> {
  if (!program.stdout) return;
  for await (const line of createInterface(program.stdout)) {
    const plain = JSON.parse(line) as Report;
    // An answer's value may have an integer beyond 2^53; a figure is a number, however large.
    const report = plain.type === "answer" ? (withPlainNumbers(parseJson(line)) as Report) : plain;
    if (report.type === "failed") throw new KitError(report.code, report.message);
    yield report;
  }
}
