import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { checkpointSteps } from "../../jobs/artifactFiles.ts";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { createHarm } from "../faults/harm.ts";
import { createTinyTrainer, enterProject, statusOf } from "./project.ts";

/** Trains until the checkpoint of step 6 is saved, or resumes. */
async function train(resume: boolean) {
  const trainer = createTinyTrainer({
    ...{ maxSteps: 8, saveSteps: 2, loggingSteps: 1, evalSteps: 2, evalSplit: 0.5 },
    loadBestModelAtEnd: true,
    callbacks: {
      onCheckpoint({ step }) {
        if (!resume && step === 6) throw new Error("the machine burns");
      },
    },
  }) as DrivenTrainer;
  const notes: string[] = [];
  trainer[DRIVER].observe({ onNote: (text) => notes.push(text) });
  if (resume) trainer[DRIVER].resume();
  const { jobId } = await trainer.start();
  const result = await trainer.wait().catch((error: unknown) => String(error));
  return { artifacts: join(process.cwd(), ".kit/jobs", jobId, "artifacts"), notes, result };
}

const flip = (file: string) => {
  const bytes = readFileSync(file);
  for (let i = bytes.length - 16; i < bytes.length; i++) bytes[i] = bytes[i]! ^ 0xff;
  writeFileSync(file, bytes);
};

const setStep = (path: string, step: number) => {
  const file = join(path, "trainer_state.json");
  const state = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...state, global_step: step }));
};

/** Makes one step's evaluation the best of a job's log. */
function evaluatedBest(artifacts: string, step: number): [number] {
  const log = join(artifacts, "..", "events.ndjson");
  const lines = readFileSync(log, "utf8").split("\n");
  const changed = lines.map((line) =>
    line.includes(`"step":${step},`)
      ? line.replace(/"evalLoss":[\d.]+/, '"evalLoss":0.000001')
      : line,
  );
  writeFileSync(log, changed.join("\n"));
  return [step];
}

/** As of a Kit that wrote none. */
function forgetChecksums(path: string): void {
  const file = join(path, "trainer_state.json");
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace('"checksums": true', '"checksums": false'),
  );
}

function mkfifo(path: string): void {
  execFileSync("mkfifo", [path]);
}

const DAMAGES: [string, RegExp, (newest: string, older: string) => void][] = [
  [
    "16 flipped bytes of the optimizer",
    /optimizer\.safetensors has changed since it was saved/,
    (path) => flip(join(path, "optimizer.safetensors")),
  ],
  [
    "16 flipped bytes of the weights",
    /model\.safetensors has changed since it was saved/,
    (path) => flip(join(path, "model.safetensors")),
  ],
  ...[17, 2.5, 1e9].map((step): (typeof DAMAGES)[number] => [
    `a step of ${step}`,
    /trainer_state\.json has changed since it was saved/,
    (path) => setStep(path, step),
  ]),
  [
    "a step of 1e9, from a Kit that wrote no checksums",
    /trainer_state\.json records step 1000000000, not \d+/,
    (path) => {
      rmSync(join(path, "checksums.json"));
      forgetChecksums(path);
      setStep(path, 1e9);
    },
  ],
  [
    "damaged checksums",
    /checksums\.json has changed since it was saved/,
    (path) => writeFileSync(join(path, "checksums.json"), '{"model'),
  ],
  ...(
    [
      ["its checksums removed", (list) => rmSync(list)],
      ["a folder in place of its checksums", (list) => (rmSync(list), mkdirSync(list))],
      ["a pipe in place of its checksums", (list) => (rmSync(list), mkfifo(list))],
    ] as [string, (list: string) => void][]
  ).map(([what, change]): (typeof DAMAGES)[number] => [
    what,
    /checksums\.json has changed since it was saved/,
    (path) => change(join(path, "checksums.json")),
  ]),
  [
    "an optimizer that its checksums do not list",
    /optimizer\.safetensors has changed since it was saved/,
    (path) => {
      const list = join(path, "checksums.json");
      writeFileSync(list, readFileSync(list, "utf8").replace('"optimizer.', '"other.'));
    },
  ],
  [
    "the folders of two checkpoints exchanged",
    /trainer_state\.json records step \d+, not \d+/,
    (newest, older) => {
      renameSync(newest, `${newest}.aside`);
      cpSync(older, newest, { recursive: true });
    },
  ],
];

describe("a resume", () => {
  let artifacts: string;
  let newest: string;
  let older: string;

  beforeEach(async () => {
    enterProject();
    ({ artifacts } = await train(false));
    [older = "", newest = ""] = checkpointSteps(artifacts)
      .slice(-2)
      .map((step) => join(artifacts, `step-${step}`));
  });

  const harm = createHarm("Newest checkpoint damaged before a resume");
  afterAll(() => harm.expectNone());

  it.each(DAMAGES)("skips a checkpoint with %s", async (_, problem, damage) => {
    damage(newest, older);
    const { artifacts: resumed, notes, result } = await train(true);
    const job = dirname(resumed);
    harm.status(statusOf(dirname(dirname(dirname(job))), basename(job))?.job.status, "completed");
    const skipped = notes.find((note) => note.startsWith("warning: skipping a damaged checkpoint"));
    expect(skipped).toMatch(problem);
    expect(result).toMatchObject({ artifacts: expect.any(Array) });
  });

  it("goes on from a checkpoint of a Kit that wrote no checksums", async () => {
    rmSync(join(newest, "checksums.json"));
    forgetChecksums(newest);
    expect((await train(true)).notes.join()).not.toContain("damaged");
  });

  it.each([60, 5])(
    "ignores a folder of step %i, which the job's log does not have",
    async (step) => {
      renameSync(older, join(artifacts, `step-${step}`));
      const { notes } = await train(true);
      expect(notes[0]).toMatch(/^resuming job \S+ after step [68]$/);
      expect(notes.join()).not.toContain("damaged");
    },
  );

  it("does not keep a best checkpoint that is damaged, and says so", async () => {
    const first = checkpointSteps(artifacts)[0] ?? 0;
    const [best] = evaluatedBest(artifacts, first);
    flip(join(artifacts, `step-${best}`, "model.safetensors"));
    const { notes, result } = await train(true);
    expect(notes.join("\n")).toMatch(
      new RegExp(`warning: the checkpoint of step ${best} can't be the best: .*model`),
    );
    expect(JSON.stringify(result)).not.toContain(`step-${best}"`);
  });

  it("fails where every checkpoint is damaged, with what is wrong and what to do", async () => {
    for (const step of checkpointSteps(artifacts))
      flip(join(artifacts, `step-${step}`, "model.safetensors"));
    expect((await train(true)).result).toMatch(/^KitError: Every checkpoint .*model\.safetensors /);
  });
});
