import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Owner, describeOwner, ownerState } from "../../jobs/owner.ts";
import { createJobStore } from "../../jobs/store.ts";
import { type JobsResponse, ROUTES, RUN_HEADER } from "../../protocol/http.ts";
import { createRunner } from "../../server/run/runner.ts";
import { createForeignJob } from "../jobs.ts";
import { isRunning, processesIn, spawnModule } from "../process.ts";
import { createProject } from "../project.ts";
import { errorOf, openGate, parseFrames, readBody, standIn, startServer } from "../uiServer.ts";

const DIST_STORE = join(import.meta.dirname, "../../dist/jobs/store.js");

/** A run that tells the id of its job and hears no signal. */
const DEAF = `
  const { createJobStore } = await import(${JSON.stringify(DIST_STORE)});
  const job = createJobStore(process.cwd()).create("deaf", {});
  job.append({ event: "training.log", data: { step: 7 } });
  process.on("SIGTERM", () => undefined);
  writeSync(1, job.job.id);
  await gate("never");`;

/** A server whose `kit` is a script of the test. */
async function startWith(code: string, options: { graceMs?: number } = {}) {
  const project = createProject();
  const server = await startServer({ project, kit: standIn(project, code), ...options });
  return { ...server, train: () => fetch(`${server.url}api/train`, { method: "POST" }) };
}

function attach(url: string): Promise<Response> {
  return fetch(`${url}api/train`);
}

/** A number that the stand-in has left in a file. */
function pidIn(project: string, name: string): number {
  return Number(readFileSync(join(project, name), "utf8"));
}

function outputLog(project: string): Buffer {
  return readFileSync(join(project, ".kit", "run", "output.log"));
}

test.each([
  ["nothing at all", "", Buffer.from("")],
  ["a line", `writeSync(1, "hello\\n");`, Buffer.from("hello\n")],
  ["text without a newline at its end", `writeSync(1, "hello");`, Buffer.from("hello")],
  [
    "the command it was called with",
    `writeSync(1, String(process.argv.slice(2)));`,
    Buffer.from("start"),
  ],
  [
    "letters split over two writes",
    `const bytes = Buffer.from("é🤖"); writeSync(1, bytes.subarray(0, 3)); await gate("go"); writeSync(1, bytes.subarray(3));`,
    Buffer.from("é🤖"),
  ],
  [
    "bytes that are no UTF-8",
    `writeSync(1, Buffer.from([0xff, 0xc3, 0x28, 0x80]));`,
    Buffer.from([0xff, 0xc3, 0x28, 0x80]),
  ],
  [
    "NULs and carriage returns",
    `writeSync(1, "10%\\r20%\\r\\n\\0\\0\\x1b[31m\\ufeff");`,
    Buffer.from("10%\r20%\r\n\0\0\x1b[31m\ufeff"),
  ],
  [
    "stdout and stderr in the order they were written",
    `for (let n = 0; n < 100; n++) writeSync(1 + (n % 2), n + "\\n");`,
    Buffer.from(Array.from({ length: 100 }, (_, n) => `${n}\n`).join("")),
  ],
  [
    "5 MB at once",
    `process.stdout.write(Buffer.alloc(5_000_000, "0123456789abcdef\\n"));`,
    Buffer.alloc(5_000_000, "0123456789abcdef\n"),
  ],
  [
    "what is printed before a crash",
    `writeSync(1, "before"); process.kill(process.pid, "SIGKILL");`,
    Buffer.from("before"),
  ],
])("the answer is byte for byte what the run prints: %s", async (_, code, expected) => {
  const { project, train } = await startWith(code);
  openGate(project, "go");
  const response = await train();
  expect(response.status).toBe(200);
  const body = Buffer.from(await response.arrayBuffer());
  expect(body.length).toBe(expected.length);
  expect(body.equals(expected)).toBe(true);
  expect(outputLog(project).equals(expected)).toBe(true);
});

test("the answer is plain text that nothing in between may keep or change", async () => {
  const { train } = await startWith("");
  const { headers } = await train();
  expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(headers.get("cache-control")).toContain("no-transform");
  expect(headers.get("x-accel-buffering")).toBe("no");
});

test("the head of the answer comes before the run prints anything, each part as it is written", async () => {
  const { project, train } = await startWith(
    `await gate("a"); writeSync(1, "first"); await gate("b"); writeSync(1, "second");`,
  );
  const response = await train();
  expect(response.status).toBe(200);
  const body = readBody(response);
  openGate(project, "a");
  expect(await body.until((text) => text.length > 0)).toBe("first");
  openGate(project, "b");
  expect(String(await body.all())).toBe("firstsecond");
});

test("a second click while a run is in flight is 409, and starts no process", async () => {
  const { project, train } = await startWith(
    `writeFileSync("started-" + process.pid, ""); await gate("go"); writeSync(1, "done");`,
  );
  const answers = await Promise.all([train(), train(), train()]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  const refused = answers.find(({ status }) => status === 409) as Response;
  expect(await errorOf(refused)).toMatch(/^A run is in flight\. Wait/);
  expect((await train()).status).toBe(409);
  openGate(project, "go");
  const accepted = answers.find(({ status }) => status === 200) as Response;
  expect(await accepted.text()).toBe("done");
  expect(readdirSync(project).filter((name) => name.startsWith("started-"))).toHaveLength(1);
});

test("of two starts at the same moment one is refused", async () => {
  const project = createProject();
  const runner = createRunner({ project, kit: standIn(project, "") });
  const [first, second] = await Promise.allSettled([runner.start(), runner.start()]);
  expect(first.status).toBe("fulfilled");
  expect(second).toMatchObject({ status: "rejected", reason: { code: "RUN_IN_FLIGHT" } });
  await runner.close();
});

test("of two servers that are asked at the same moment one launches, and both have its run", async () => {
  const project = createProject();
  const kit = standIn(project, `writeFileSync("started-" + process.pid, ""); await gate("never");`);
  const runners = [createRunner({ project, kit }), createRunner({ project, kit })];
  const starts = await Promise.allSettled(runners.map((runner) => runner.start()));
  expect(starts.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(starts).toContainEqual(
    expect.objectContaining({ reason: expect.objectContaining({ code: "RUN_IN_FLIGHT" }) }),
  );
  const ids = await Promise.all(runners.map(async (runner) => (await runner.current())?.id));
  expect(ids[0]).toMatch(/./);
  expect(ids[1]).toBe(ids[0]);
  await Promise.all(runners.map((runner) => runner.close()));
  expect(readdirSync(join(project, ".kit", "run")).sort()).toEqual(["output.log", "run.json"]);
});

test("a run of another container is in flight for as long as it is at work on a job", async () => {
  const project = createProject();
  const foreign = { ...describeOwner(), bootId: "another", pid: 999_999 };
  mkdirSync(join(project, ".kit", "run"), { recursive: true });
  const path = join(project, ".kit", "run", "run.json");
  const id = randomUUID();
  writeFileSync(path, JSON.stringify({ id, owner: foreign, server: foreign }));
  let isAtWork = true;
  const kit = standIn(project, "");
  const runner = createRunner({ project, kit, isAtWork: () => isAtWork });
  await expect(runner.start()).rejects.toMatchObject({ code: "RUN_IN_FLIGHT" });
  expect((await runner.current())?.id).toBe(id);
  isAtWork = false;
  expect(await runner.current()).toBeUndefined();
  expect((await runner.start()).id).not.toBe(id);
  await runner.close();
});

test("a run records itself, for a server that is killed before it could", async () => {
  const project = createProject({
    "src/kit/index.ts": "await new Promise((go) => setTimeout(go, 60_000));",
  });
  const { url } = await startServer({ project });
  const body = readBody(await fetch(`${url}api/train`, { method: "POST" }));
  const path = join(project, ".kit", "run", "run.json");
  const byServer = readFileSync(path, "utf8");
  rmSync(path);
  await expect.poll(() => existsSync(path)).toBe(true);
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(JSON.parse(byServer));
  await body.cancel();
});

test("an id that no server has written is none", async () => {
  const project = createProject();
  const { url } = await startServer({ project });
  mkdirSync(join(project, ".kit", "run"), { recursive: true });
  const record = { id: "a\nb", owner: describeOwner(), server: describeOwner() };
  writeFileSync(join(project, ".kit", "run", "run.json"), JSON.stringify(record));
  const answer = await fetch(`${url}api/train`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("Kit-Run") ?? "").toBe("");
  await answer.body?.cancel();
});

test("after a run has ended the next click starts one, with an output of its own", async () => {
  const { train, project } = await startWith(
    `writeSync(1, existsSync("again") ? "second" : "the first"); writeFileSync("again", "");`,
  );
  expect(await (await train()).text()).toBe("the first");
  expect(await (await train()).text()).toBe("second");
  expect(String(outputLog(project))).toBe("second");
});

test("a client that goes away does not stop the run, and another sees it from the first byte", async () => {
  const { project, train, url } = await startWith(
    `writeSync(1, "first "); await gate("go"); writeSync(1, "second"); await gate("end");`,
  );
  const tab = readBody(await train());
  await tab.until((text) => text === "first ");
  await tab.cancel();
  openGate(project, "go");
  const other = readBody(await attach(url));
  expect(await other.until((text) => text.endsWith("second"))).toBe("first second");
  openGate(project, "end");
  expect(String(await other.all())).toBe("first second");
});

test("a client that does not read slows neither the run nor another client", async () => {
  const { train, url, project } = await startWith(
    `for (let n = 0; n < 20; n++) writeSync(1, Buffer.alloc(1_000_000, "x")); await gate("go");`,
  );
  const stalled = readBody(await train());
  const other = readBody(await attach(url));
  openGate(project, "go");
  expect(await other.all()).toHaveLength(20_000_000);
  await stalled.cancel();
});

test("without a run in flight there is nothing to attach to", async () => {
  const { train, url } = await startWith(`writeSync(1, "done");`);
  expect((await attach(url)).status).toBe(204);
  await (await train()).text();
  const after = await attach(url);
  expect(after.status).toBe(204);
  expect(await after.text()).toBe("");
});

test("who names the run it has seen a part of gets the rest, also when the run has ended", async () => {
  const { project, train, url } = await startWith(
    `writeSync(1, "é first "); await gate("go"); writeSync(1, "second");`,
  );
  const response = await train();
  const run = response.headers.get(RUN_HEADER) ?? "";
  const tab = readBody(response);
  const seen = await tab.until((text) => text.endsWith("first "));
  await tab.cancel();
  const rest = (from: number) => fetch(`${url}${ROUTES.restOfTrain(run, from)}`);
  const live = await rest(Buffer.byteLength(seen));
  expect(live.headers.get(RUN_HEADER)).toBe(run);
  openGate(project, "go");
  expect(await live.text()).toBe("second");
  expect(await (await rest(Buffer.byteLength(seen))).text()).toBe("second");
  expect(await (await rest(0)).text()).toBe("é first second");
  expect(await (await rest(10_000)).text()).toBe("");
  // A server that comes later knows the last run as well.
  const next = await startServer({ project, kit: standIn(project, "") });
  const later = await fetch(`${next.url}${ROUTES.restOfTrain(run, 3)}`);
  expect(await later.text()).toBe("first second");
  expect((await attach(url)).status).toBe(204);
});

test("who names a run that is not the last gets the run in flight from its first byte, or nothing", async () => {
  const { project, train, url } = await startWith(`writeSync(1, "out"); await gate("go");`);
  const rest = () => fetch(`${url}${ROUTES.restOfTrain(run, 2)}`);
  let run = "another";
  expect((await rest()).status).toBe(204);
  const first = await train();
  const body = readBody(await rest());
  expect(await body.until((text) => text.length > 0)).toBe("out");
  openGate(project, "go");
  await first.text();
  expect((await rest()).status).toBe(204);
  run = "";
  expect((await rest()).status).toBe(204);
});

test("closing cancels the job of a run that had to be killed, and no other", async () => {
  const project = createProject();
  const kit = standIn(project, DEAF);
  const { close, url } = await startServer({ project, kit, graceMs: 100 });
  const { id: other } = await createForeignJob(project, []);
  const body = readBody(await fetch(`${url}api/train`, { method: "POST" }));
  const id = await body.until((text) => text.length > 0);
  await close();
  const jobs = createJobStore(project);
  expect(jobs.get(id)).toEqual({ job: expect.objectContaining({ status: "cancelled" }) });
  expect(readFileSync(jobs.logPath(id), "utf8")).toMatch(
    /"event":"training.cancelled",.*"data":\{"step":7\}\}\n$/,
  );
  expect(jobs.get(other)?.job.status).toBe("queued");
});

test("who follows the job of a run that had to be killed is told what its log says", async () => {
  for (let round = 0; round < 5; round++) {
    const project = createProject();
    const kit = standIn(project, DEAF);
    // A look at the owner each moment, so that one comes when it is gone and nothing is written.
    const { close, url } = await startServer({ project, kit, graceMs: 50 + 10 * round });
    const output = readBody(await fetch(`${url}api/train`, { method: "POST" }));
    const id = await output.until((text) => text.length > 0);
    const stream = readBody(await fetch(`${url}api/jobs/${id}/events`));
    let isOver = false;
    const listed = new Set<string>();
    const watch = async () => {
      while (!isOver) {
        const { jobs } = (await (await fetch(`${url}api/jobs`)).json()) as JobsResponse;
        for (const { status } of jobs) listed.add(status);
      }
    };
    const watching = watch().catch(() => undefined);
    const closed = close();
    const frames = parseFrames(String(await stream.all()));
    await closed;
    isOver = true;
    await watching;
    expect(frames.map(({ event }) => event)).toEqual(["training.log", "end"]);
    expect([...listed]).not.toContain("failed");
  }
});

test("a log that cannot be written keeps no server from closing", async () => {
  const project = createProject();
  const kit = standIn(project, DEAF);
  const { close, url } = await startServer({ project, kit, graceMs: 50 });
  const output = readBody(await fetch(`${url}api/train`, { method: "POST" }));
  const id = await output.until((text) => text.length > 0);
  const log = createJobStore(project).logPath(id);
  rmSync(log);
  symlinkSync(log, log);
  await close();
  expect(createJobStore(project).get(id)?.job.status).toBe("failed");
});

test("who reads a run's output when the server closes reads its last word", async () => {
  const { train, close } = await startWith(
    `process.on("SIGTERM", () => { writeSync(1, "x".repeat(3_000_000) + "cancelled"); process.exit(); });
     writeSync(1, "running "); await gate("never");`,
  );
  const body = readBody(await train());
  await body.until((text) => text === "running ");
  const closed = close();
  expect(String(await body.all())).toMatch(/xcancelled$/);
  await closed;
});

test("the request's body, query and headers reach the run in no way", async () => {
  const { url } = await startWith(
    `writeSync(1, JSON.stringify([process.argv.slice(2), process.env.EVIL ?? null]));`,
  );
  const response = await fetch(`${url}api/train?entry=evil.ts`, {
    method: "POST",
    body: JSON.stringify({ args: ["--project", "/"], env: { EVIL: "1" }, kit: "evil" }),
    headers: { "x-env-evil": "1" },
  });
  expect(await response.text()).toBe('[["start"],null]');
});

test("a project that cannot be written is 500 with a sentence, and the server goes on", async () => {
  const project = createProject({ ".kit": "a file, where a folder should be" });
  const { url } = await startServer({ project, kit: standIn(project, "") });
  for (let n = 0; n < 2; n++) {
    const response = await fetch(`${url}api/train`, { method: "POST" });
    expect(response.status).toBe(500);
    expect(await errorOf(response)).toMatch(/^Cannot start a run in .*\.kit\/run: .* writable/);
  }
  expect((await fetch(url)).status).toBe(200);
});

test("a run whose record cannot be written is ended, and is 500", async () => {
  const project = createProject({ ".kit/run/run.json/in-the-way": "" });
  const { url } = await startServer({ project, kit: standIn(project, `await gate("never");`) });
  expect((await fetch(`${url}api/train`, { method: "POST" })).status).toBe(500);
  expect((await attach(url)).status).toBe(204);
  await expect.poll(() => processesIn(project)).toEqual([]);
});

test("a kit command that cannot be run is 500 with a sentence", async () => {
  const { url } = await startServer({ kit: ["/nowhere/node", "kit.js"] });
  const response = await fetch(`${url}api/train`, { method: "POST" });
  expect(response.status).toBe(500);
  expect(await errorOf(response)).toContain("/nowhere/node");
  expect((await attach(url)).status).toBe(204);
});

const SERVER_OF_ITS_OWN = `
  const { startUiServer } = await dist("server/server.js");
  const [project, page, ...kit] = process.argv.slice(1);
  const { port } = await startUiServer({ project, page, kit, host: "127.0.0.1", port: 0 });
  console.log(port);`;

test("a run survives a killed server, and the next server attaches to it and ends it", async () => {
  const project = createProject();
  const page = createProject({ "index.html": "" });
  const kit = standIn(
    project,
    `writeFileSync("pid", String(process.pid)); writeSync(1, "first "); await gate("go"); writeSync(1, "second"); await gate("never");`,
  );
  const killed = spawnModule(SERVER_OF_ITS_OWN, [project, page, ...kit]);
  const port = await killed.line();
  const tab = readBody(await fetch(`http://127.0.0.1:${port}/api/train`, { method: "POST" }));
  await tab.until((text) => text === "first ");
  await killed.kill();

  const next = await startServer({ project, kit });
  openGate(project, "go");
  const body = readBody(await attach(next.url));
  expect(await body.until((text) => text.endsWith("second"))).toBe("first second");
  expect((await fetch(`${next.url}api/train`, { method: "POST" })).status).toBe(409);
  expect(isRunning(pidIn(project, "pid"))).toBe(true);
  await next.close();
  expect(isRunning(pidIn(project, "pid"))).toBe(false);
});

test("a second server beside the first shows its run, and leaves it when it closes", async () => {
  const project = createProject();
  const page = createProject({ "index.html": "" });
  const code = `writeFileSync("pid", String(process.pid)); writeSync(1, "first"); await gate("never");`;
  const kit = standIn(project, code);
  const second = await startServer({ project, kit });
  const first = spawnModule(SERVER_OF_ITS_OWN, [project, page, ...kit]);
  const port = await first.line();
  const tab = readBody(await fetch(`http://127.0.0.1:${port}/api/train`, { method: "POST" }));
  await tab.until((text) => text === "first");
  const body = readBody(await attach(second.url));
  expect(await body.until((text) => text.length > 0)).toBe("first");
  await second.close();
  expect(isRunning(pidIn(project, "pid"))).toBe(true);
  process.kill(-pidIn(project, "pid"), "SIGKILL");
});

test.each([
  ["another boot", { bootId: "another" }],
  ["a process that ended and whose pid is taken again", { startTime: "1" }],
  ["every process of the machine", { pid: -1 }],
])("a record left by %s is no run in flight", async (_, owner) => {
  const project = createProject();
  const record = { owner: { ...describeOwner(), ...owner }, server: describeOwner() };
  const { url } = await startServer({
    project: createProject({ ".kit/run/run.json": JSON.stringify(record) }),
    kit: standIn(project, ""),
  });
  expect((await attach(url)).status).toBe(204);
});

test.each(["", "{", "null", "7", '{"owner":null}', '{"owner":{"pid":1}}'])(
  "a record of %j is no run in flight",
  async (content) => {
    const { url } = await startServer({ project: createProject({ ".kit/run/run.json": content }) });
    expect((await attach(url)).status).toBe(204);
  },
);

test("closing asks a run to end, lets it say its last words, and starts nothing more", async () => {
  const { train, url, close, project } = await startWith(
    `process.on("SIGTERM", () => { writeSync(1, "cancelled"); process.exit(); });
     writeSync(1, "running "); await gate("never");`,
    { graceMs: 60_000 },
  );
  const body = readBody(await train());
  await body.until((text) => text === "running ");
  await Promise.all([close(), close()]);
  expect(String(outputLog(project))).toBe("running cancelled");
  await expect(attach(url)).rejects.toThrow();
});

test("closing ends all that a run has started, also what ignores being asked", async () => {
  const { project, train, close } = await startWith(
    `import { spawn } from "node:child_process";
     process.on("SIGTERM", () => writeSync(1, "no"));
     const child = spawn("sh", ["-c", "trap '' TERM; echo; sleep 600"], { stdio: ["ignore", "pipe", "ignore"] });
     child.stdout.once("data", () => {
       writeFileSync("pid", String(process.pid));
       writeFileSync("child", String(child.pid));
       writeSync(1, "ready");
     });`,
    { graceMs: 100 },
  );
  await readBody(await train()).until((text) => text === "ready");
  const pids = [pidIn(project, "pid"), pidIn(project, "child")];
  expect(pids.map(isRunning)).toEqual([true, true]);
  await close();
  await expect.poll(() => pids.map(isRunning)).toEqual([false, false]);
});

test("closing while a run is being launched ends that run, and nothing else", async () => {
  const project = createProject();
  const runner = createRunner({ project, kit: standIn(project, `await gate("never");`) });
  const started = runner.start();
  await runner.close();
  await started;
  const path = join(project, ".kit", "run", "run.json");
  const { owner } = JSON.parse(readFileSync(path, "utf8")) as { owner: Owner };
  expect(ownerState(owner)).toBe("gone");
  await expect(runner.start()).rejects.toMatchObject({ code: "CLOSED" });
});

test("the real command's answer is what it printed, with what a callback printed in it", async () => {
  const project = createProject({
    "src/kit/index.ts": `
      import { createKit, createTrainer } from "kit";
      export default createKit({
        trainer: createTrainer({
          name: "tiny",
          model: { layers: 1, heads: 1, width: 4, context: 16 },
          dataset: { type: "jsonl", path: "data.jsonl" },
          maxSteps: 2,
          batchSize: 1,
          callbacks: {
            onLog: ({ step }) => process.stdout.write(Buffer.from(\`\\0é🤖\\r\${step}\`)),
            onCompleted: () => console.error("to stderr"),
          },
        }),
      });`,
    "data.jsonl": '{"text":"ab"}\n'.repeat(4),
  });
  const { url } = await startServer({ project });
  const response = await fetch(`${url}api/train`, { method: "POST" });
  expect(response.status).toBe(200);
  const body = Buffer.from(await response.arrayBuffer());
  expect(body.equals(outputLog(project))).toBe(true);
  expect(body.toString()).toContain("\0é🤖\r2");
  expect(body.toString()).toContain("to stderr\n");
  const { jobs } = (await (await fetch(`${url}api/jobs`)).json()) as { jobs: unknown[] };
  expect(jobs).toEqual([expect.objectContaining({ name: "tiny", status: "completed" })]);
});
