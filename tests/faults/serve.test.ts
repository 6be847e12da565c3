import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readLog } from "../../jobs/log/read.ts";
import { createJobStore } from "../../jobs/store.ts";
import { emptyDisk, fillDisk, mountDisk } from "../disk.ts";
import { createTinyProject, runKit, startKit, tinySource } from "../kit.ts";
import { sayTo, startServe, streamFrom } from "../serveCommand.ts";
import { saveToolModel } from "../toolModel.ts";
import { createHarm } from "./harm.ts";

const messages = [{ role: "user", content: "1" }];
const TALK = { model: "talker", messages };
const CLIENTS = 8;

/** A project with a model that talks to the end of its context. */
function createTalker(source?: string): string {
  const project = createTinyProject(source);
  saveToolModel(join(project, "talker"), { context: 8192 });
  return project;
}

test("a kit serve that is killed leaves broken streams, which no client takes for whole answers", async () => {
  const harm = createHarm("`kit serve` is killed while it streams");
  const serve = await startServe(createTalker(), ["talker"]);
  const streams = Array.from({ length: CLIENTS }, () =>
    streamFrom(serve.port, TALK, /"content":"./),
  );
  const all = Promise.all(streams.map(({ began }) => began));
  // On a busy machine, answers may end before the last request arrives.
  await Promise.race([all, ...streams.map(({ ended }) => ended)]);
  serve.child.kill("SIGKILL");
  const answers = await Promise.all(streams.map(({ ended }) => ended));
  for (const { text, isWhole } of answers) harm.status(isWhole, text.includes("[DONE]"));
  expect(answers.some(({ isWhole }) => !isWhole)).toBe(true);
  harm.expectNone();
});

test("a model whose folder is deleted while it is served answers as before", async () => {
  const harm = createHarm("The model's folder is deleted while it is served");
  const project = createTinyProject(tinySource({ options: "learningRate: 0.1," }));
  await runKit(project, ["start"]);
  const serve = await startServe(project);
  const before = await sayTo(serve, { max_tokens: 8 });
  rmSync(join(project, ".kit"), { recursive: true });
  harm.status(await sayTo(serve, { max_tokens: 8 }), { ...before, status: 200 });
  // It says so, and goes on with the next one.
  await runKit(project, ["start"]);
  const [next] = createJobStore(project).list();
  await serve.printed(new RegExp(`now serving ${next?.id}`));
  harm.also((await sayTo(serve, { max_tokens: 8 })).model, next?.id);
  serve.child.kill("SIGTERM");
  harm.also((await serve.ended).stderr, "");
  harm.expectNone();
});

test("a full disk costs lines of the log, and no answer", async () => {
  const harm = createHarm("The disk of the log is full while `kit serve` answers");
  const project = createTalker();
  const disk = join(project, "logs");
  mountDisk(disk, 256);
  const log = join(disk, "serve.log");
  const within = ["sh", "-c", 'exec "$@" > logs/serve.log', "sh"];
  const args = ["serve", "--port", "0", "--json", "talker"];
  const { child, ended } = startKit(project, args, {}, within);
  await expect.poll(() => readFileSync(log, "utf8")).toContain("ready");
  const [, port] = /:(\d+)\/v1/.exec(readFileSync(log, "utf8")) ?? [];
  const ask = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...TALK, max_tokens: 4 }),
    });
    return [response.status, ((await response.json()) as { choices: object[] }).choices];
  };
  const before = await ask();
  fillDisk(disk);
  // More lines than the rest of a page holds.
  for (let n = 0; n < 32; n++) harm.status(await ask(), before);
  emptyDisk(disk);
  harm.also(await ask(), before);
  child.kill("SIGTERM");
  const { code, stderr } = await ended;
  harm.also([code, stderr], [1, expect.stringMatching(/^kit: Cannot write the output: ENOSPC/)]);
  harm.expectNone();
});

test("a training beside it changes no answer, and no loss of the training", async () => {
  const harm = createHarm("A training runs beside `kit serve`");
  const options = "maxSteps: 200, saveSteps: 200,";
  const project = createTalker(tinySource({ options }));
  const logOf = () => {
    const store = createJobStore(project);
    const [job] = store.list();
    const losses = [...readLog(join(project, ".kit/jobs", job?.id ?? ""))]
      .filter(({ event }) => event === "training.log")
      .map(({ data }) => (data as { loss: number }).loss);
    return { status: job?.status, losses };
  };
  await runKit(project, ["start"]);
  const alone = logOf();
  const serve = await startServe(project, ["talker"]);
  const ask = () => sayTo(serve, { ...TALK, max_tokens: 64 });
  const answer = await ask();
  const training = startKit(project, ["start"]);
  await training.printed(/^step /m);
  let isOver = false;
  void training.ended.then(() => (isOver = true));
  do {
    const answers = await Promise.all(Array.from({ length: CLIENTS }, ask));
    for (const each of answers) harm.status(each, answer);
  } while (!isOver);
  harm.also(logOf(), alone);
  harm.also(alone.status, "completed");
  harm.expectNone();
});
