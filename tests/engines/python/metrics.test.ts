import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createJob } from "../../../engines/python/job.ts";
import type { EngineEvent, EventData } from "../../../protocol/event.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { tinyConfig } from "../embedded/run.ts";
import { ENGINE_FOLDER, ENV, PYTHON, hasPython } from "./environment.ts";

const PROGRAM = new URL("./metrics.py", import.meta.url).pathname;

/** The logs of a training with an objective of its own. */
async function logsOf(changes: Partial<TrainConfig>, resumeFrom?: string) {
  const directory = mkdtempSync(join(tmpdir(), "kit-metrics-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const config = { ...tinyConfig(changes), engine: { name: "python" } };
  const job = await createJob({ config, directory, resumeFrom });
  const printed = execFileSync(PYTHON, ["-B", PROGRAM, ENGINE_FOLDER, JSON.stringify(job)], {
    encoding: "utf8",
    env: { ...process.env, ...ENV },
  });
  const lines = printed.trim().split("\n");
  const events = lines.map((line) => (JSON.parse(line) as { event?: EngineEvent }).event);
  const logs = events.flatMap((event) => (event?.event === "training.log" ? [event.data] : []));
  return {
    logs: logs.map(({ tokensPerSecond: _, ...log }): EventData["training.log"] => log),
    directory,
  };
}

describe.runIf(hasPython)("with Python", () => {
  it("logs what an objective measures, on held-out rows too, and goes on to the same figures", async () => {
    const changes = {
      ...{ maxSteps: 40, loggingSteps: 3, saveSteps: 20, evalSplit: 0.25, evalSteps: 39 },
      ...{ gradientAccumulationSteps: 2 },
    };
    const { logs, directory } = await logsOf(changes);
    const share = expect.any(Number) as number;
    expect(logs[0]?.metrics).toEqual({ accuracy: share });
    expect(logs.at(-1)?.metrics).toEqual({ accuracy: share, evalAccuracy: 0.25 });
    expect(Number(logs.at(-1)?.metrics?.["accuracy"])).toBeGreaterThan(
      Number(logs[0]?.metrics?.["accuracy"]),
    );
    const more = await logsOf(changes, join(directory, "artifacts/step-20"));
    expect(more.logs).toEqual(logs.filter(({ step }) => step > 20));
  });
});
