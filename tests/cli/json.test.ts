import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { CLI, createTinyProject, tinySource } from "../kit.ts";
import { readEvents } from "../sdk/project.ts";

/** Prints beside Kit, and fails at a checkpoint if the test wants it. */
const CALLBACKS = `callbacks: {
  onStarted: () => console.log("the project's own words"),
  onCheckpoint({ step }) {
    if (process.env.FAILING) throw new Error("stop here");
  },
},`;

function kit(cwd: string, words: string, { input = "", ...env }: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...words.split(" ")], {
    cwd,
    input,
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  return { code: status, stdout, stderr };
}

function linesOf(stdout: string): Record<string, unknown>[] {
  const lines = stdout.trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("--json prints JSON alone on stdout: events, answers, what was exported", () => {
  const project = createTinyProject(tinySource({ options: CALLBACKS }));
  const started = kit(project, "start --json");
  expect(started).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("own words") as string,
  });
  const [created, ...events] = linesOf(started.stdout);
  expect(created).toMatchObject({ event: "job.created", data: { name: "tiny" } });
  const { id } = created?.["data"] as { id: string };
  const logged = readEvents(project, id).map(({ event, data }) => ({ event, data }));
  const printed = events.map(({ event, data }) => ({ event, data }));
  expect(printed.filter(({ event }) => event !== "note")).toEqual(logged);
  for (const { time } of events) expect(time).toMatch(/^\d{4}-\d\d-\d\dT/);

  const ask = "infer latest --json --max-tokens 2";
  const counted = { text: expect.any(String) as string, promptTokens: 5, tokens: 2 };
  const [answer] = linesOf(kit(project, `${ask} 1`).stdout);
  expect(answer).toEqual({ ...counted, finishReason: "length" });
  const answers = kit(project, ask, { input: `1\n${"9".repeat(40)}\n` });
  expect(answers.code).toBe(1);
  expect(linesOf(answers.stdout)).toEqual([
    answer,
    { line: 2, error: { code: "REQUEST_INVALID", message: expect.any(String) as string } },
  ]);

  const exported = JSON.parse(kit(project, "export latest out --json").stdout) as object;
  expect(exported).toMatchObject({ path: `${project}/out`, format: "safetensors" });
  const jobs = JSON.parse(kit(project, "jobs --json").stdout) as object[];
  expect(jobs).toMatchObject([{ id, status: "completed" }]);
});

test("with --json, errors have their code", () => {
  const project = createTinyProject(tinySource({ options: CALLBACKS }));
  const failed = kit(project, "start --json", { FAILING: "1" });
  expect(failed.code).toBe(1);
  expect(linesOf(failed.stdout).slice(-2)).toMatchObject([
    { event: "training.failed", data: { error: "stop here" } },
    { error: { message: "stop here" } },
  ]);
  const missing = { error: { code: "JOB_NOT_FOUND", message: expect.any(String) as string } };
  for (const words of ["infer nothing 1", "eval nothing", "export nothing", "jobs --compare a b"]) {
    const { code, stdout } = kit(project, `${words} --json`);
    expect([code, JSON.parse(stdout)], words).toEqual([2, missing]);
  }
  const wrong = { error: { code: "USAGE_INVALID", message: expect.any(String) as string } };
  for (const words of [
    "start --bogus",
    "eval",
    "eval latest --rows 0",
    "infer latest --jsonl",
    "push",
  ]) {
    const { code, stdout } = kit(project, `${words} --json`);
    expect([code, JSON.parse(stdout)], words).toEqual([2, wrong]);
  }
  const served = kit(project, "serve nothing --port 0 --json");
  expect(linesOf(served.stdout)).toMatchObject([{ event: "listening" }, missing]);
  const unreadable = kit(project, "check src/none.ts --json");
  expect(JSON.parse(unreadable.stdout)).toMatchObject({ error: { code: "ENTRY_NOT_FOUND" } });
});
