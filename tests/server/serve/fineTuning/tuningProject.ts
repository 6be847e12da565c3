import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type OpenAI from "openai";
import { expect, onTestFinished } from "vitest";
import { leaseOwner } from "../../../../disk/lease.ts";
import { signalTree } from "../../../../disk/processTree.ts";
import { leasePath } from "../../../../jobs/paths.ts";
import { createJobStore } from "../../../../jobs/store.ts";
import { isFinal } from "../../../../protocol/job.ts";
import { CHATML, saveBaseModel } from "../../../baseModel.ts";
import { createProject } from "../../../project.ts";

/** The model in a project that jobs start from. */
export const BASE = "./base";

export const ROWS = Array.from({ length: 12 }, (_, n) => ({
  messages: [
    { role: "user", content: `${n}` },
    { role: "assistant", content: n % 2 === 0 ? "even" : "odd" },
  ],
}));

/** A folder with a small random model, and no trainer. */
export function createTuningProject(files: Record<string, string> = {}): string {
  const project = createProject(files);
  onTestFinished(() => killTrainings(project));
  mkdirSync(join(project, "base"));
  saveBaseModel(join(project, "base"), {
    specials: ["<|im_start|>", "<|im_end|>"],
    template: CHATML,
    config: { eos_token_id: 257 },
  });
  return project;
}

/** Kills what a failed test has left: a training outlives its server. */
async function killTrainings(project: string): Promise<void> {
  const store = createJobStore(project);
  for (const { id, status } of store.list()) {
    const owner = isFinal(status) ? undefined : leaseOwner(leasePath(store.directoryOf(id)));
    if (owner) signalTree(owner, "SIGKILL");
  }
  await expect.poll(() => store.list().some(({ status }) => status === "running")).toBe(false);
}

/** Polls a job as OpenAI's documentation does. */
export async function untilEnded(client: OpenAI, id: string) {
  for (;;) {
    const job = await client.fineTuning.jobs.retrieve(id);
    if (["succeeded", "failed", "cancelled"].includes(job.status)) return job;
    await delay(100);
  }
}
