import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createJobStore } from "../../../jobs/store.ts";
import {
  createTinyProject,
  remoteSource,
  pacedSource,
  runKit,
  startKit,
  tinySource,
} from "../../kit.ts";

/** Writes to the clipboard, clears the screen, opens a C1 sequence, goes back and forges a line. */
const HOSTILE =
  "x\u001b]52;c;aGk=\u0007\u009b2J\u009d0;t\u009c\u202e\r\ncompleted in 0s: loss 0.0001\n";
const SPELT = "x\\u001b]52;c;aGk=\\u0007\\u009b2J\\u009d0;t\\u009c\\u202e\\r";

/** Whatever a terminal would obey, but for the ends of lines. */
// oxlint-disable-next-line no-control-regex -- the characters that are meant
const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

function expectHarmless(printed: string, times: number): void {
  expect(printed).not.toMatch(OBEYED);
  expect(printed).not.toMatch(/^completed in 0s: loss 0\.0001/m);
  expect(printed.split(SPELT).length - 1).toBeGreaterThanOrEqual(times);
}

/** An engine whose notes, events and place are another's words. */
const REPORTS = `
const hostile = ${JSON.stringify(HOSTILE)};
const far = { where: hostile, address: "far", checkpoints: "far" };
const engine = {
  ...createRemoteEngine(process.cwd() + "/far"),
  check: ({ onNote }) => {
    onNote(hostile);
    const started = { model: hostile, parameters: 1, rows: 1, leftOut: 1, keepLeftOut: hostile, maxSteps: 4 };
    const firstRow = [true, false].map((isSpecial) => ({ text: hostile, isLearned: false, isSpecial }));
    return { started, learnedTokens: 1, longestRow: 1, memoryBytes: 1, firstRow };
  },
  train: async ({ onNote, onEvent, onRemote, detachSignal }) => {
    onNote(hostile);
    const data = { model: hostile, parameters: 1, rows: 1, leftOut: 1, keepLeftOut: hostile, format: hostile, maxSteps: 4 };
    onEvent({ event: "training.started", data });
    if (process.env.PATHS) onEvent({ event: "checkpoint.saved", data: { step: 1, kind: "model", path: "artifacts/" + hostile } });
    onRemote(far);
    detachSignal.throwIfAborted();
  },
};
engine.remote = {
  ...engine.remote,
  follow: ({ onNote }) => (onNote(hostile), Promise.reject(new Error(hostile))),
};`;
const SOURCE = remoteSource({}).replace(/(?=export default)/, `${REPORTS}\n`);
const PROJECT = SOURCE.replace(/engine: createRemoteEngine\([^)]*\)[^,]*,/, "engine,");

test("nothing that a cluster reports reaches the terminal as a command or as a line of Kit's", async () => {
  const project = createTinyProject(PROJECT);
  const started = await runKit(project, ["start", "--detach"]);
  expectHarmless(started.stdout + started.stderr, 5);
  expect(started.stdout).toContain(`keeps training on ${SPELT}`);
  const attached = await runKit(project, ["attach", "latest"]);
  expect(attached.stdout).toContain(`attached to the job on ${SPELT}`);
  expectHarmless(attached.stdout + attached.stderr, 3);
  const checked = await runKit(project, ["check"]);
  expectHarmless(checked.stdout + checked.stderr, 5);
});

test("no file is named by a checkpoint's path with control characters", async () => {
  const project = createTinyProject(PROJECT);
  const { code, stdout, stderr } = await runKit(project, ["start"], { PATHS: "1" });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^failed: The engine remote reported .* is not an event of a job\./m);
  expectHarmless(stdout + stderr, 1);
});

test("a job's name waits on one line, as it was written", async () => {
  const project = createTinyProject(pacedSource());
  const first = startKit(project, ["start"]);
  await first.printed(/^step /m);
  const [job] = createJobStore(project).list();
  const path = join(project, ".kit/jobs", job?.id ?? "", "job.json");
  const written = JSON.parse(readFileSync(path, "utf8")) as object;
  writeFileSync(path, JSON.stringify({ ...written, name: HOSTILE }));
  const waiting = await startKit(project, ["start"]).printed(/waiting for job .*\n/);
  expectHarmless(waiting, 1);
});

test("what a project's own code prints stays as it is", async () => {
  const print = 'console.log("\\u001b[1mbold\\u001b[0m");';
  const { stdout } = await runKit(createTinyProject(tinySource({ before: print })), ["check"]);
  expect(stdout).toContain("\u001b[1mbold\u001b[0m\n");
});
