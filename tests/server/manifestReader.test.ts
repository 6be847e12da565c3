import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createManifestReader } from "../../server/manifestReader.ts";
import { isRunning, processesIn } from "../process.ts";
import { createProject } from "../project.ts";
import { errorOf, openGate, readBody, standIn, startServer } from "../uiServer.ts";
import { simulateWindows } from "../windows.ts";

const TRAINER = `
  import { createKit, createTrainer } from "kit";
  const trainer = createTrainer({ name: "dates", dataset: { type: "jsonl", path: "data.jsonl" } });
  export default createKit({ trainer });
`;

async function askManifest(files: Record<string, string>, options = {}) {
  const project = createProject(files);
  const server = await startServer({ project, ...options });
  const response = await fetch(`${server.url}api/manifest`);
  return { ...server, response };
}

/** Asks for the manifest of a project with this `src/kit/index.ts`, and expects a refusal. */
async function refusal(code: string | undefined, options = {}): Promise<string> {
  const files: Record<string, string> = code === undefined ? {} : { "src/kit/index.ts": code };
  const { response, url } = await askManifest(files, options);
  expect(response.status).toBe(422);
  // Whatever the project does, the server goes on.
  expect((await fetch(`${url}api/jobs`)).status).toBe(200);
  return errorOf(response);
}

test("a project's trainer is found", async () => {
  const { response, project } = await askManifest({ "src/kit/index.ts": TRAINER });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(await response.json()).toEqual({ trainer: { name: "dates" } });
  expect(existsSync(join(project, ".kit", "build", "index.mjs"))).toBe(true);
});

test("each read builds again", async () => {
  const { project, url } = await askManifest({ "src/kit/index.ts": TRAINER });
  writeFileSync(join(project, "src/kit/index.ts"), TRAINER.replace("dates", "years"));
  const again = await fetch(`${url}api/manifest`);
  expect(await again.json()).toEqual({ trainer: { name: "years" } });
});

test.each([
  ["an empty file", ""],
  ["a kit without a trainer", 'import { createKit } from "kit"; export default createKit({});'],
  ["a forgotten export", TRAINER.replace("export default ", "")],
  ["a trainer that is not passed on", TRAINER.replace("createKit({ trainer })", "trainer")],
])("%s exposes nothing", async (_, code) => {
  const { response } = await askManifest({ "src/kit/index.ts": code });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ trainer: null });
});

test("a folder without a project is an error with the next step", async () => {
  expect(await refusal(undefined)).toMatch(/^There is no src\/kit\/index\.ts in .*"kit init"/);
});

test("a syntax error comes with file, line and column", async () => {
  const error = await refusal("const a = 1;\nconst b = ;\n");
  expect(error).toMatch(/^src\/kit\/index\.ts:2:11: /);
  expect(error).not.toContain("\n");
});

test("a missing import comes with its place", async () => {
  expect(await refusal('import "./nothing";')).toMatch(/^src\/kit\/index\.ts:1:8: .*nothing/);
});

test("an import that throws comes with its message and place", async () => {
  const error = await refusal('export {};\nthrow new Error("no database");');
  expect(error).toMatch(/^Error: no database \(src\/kit\/index\.ts:2:\d+\)$/);
});

test("a wrong option comes with its name", async () => {
  expect(await refusal(TRAINER.replace('"dates"', "7"))).toMatch(/"name" must be a string/);
});

test.each([0, 7])("an import that exits with code %d is reported", async (code) => {
  const error = await refusal(`process.exit(${code});`);
  expect(error).toContain(`exit code ${code}`);
  expect(error).toContain("process.exit()");
});

test("an import that is killed is reported", async () => {
  expect(await refusal('process.kill(process.pid, "SIGKILL");')).toMatch(/^SIGKILL ended /);
});

test("a top-level await that never settles is reported at once", async () => {
  expect(await refusal("await new Promise(() => {}); export {};")).toMatch(/await .*never settles/);
});

test.each([
  ["a loop", "while (true);"],
  [
    "an await beside a timer",
    "setInterval(() => {}, 1000); await new Promise(() => {}); export {};",
  ],
])("%s that never ends is ended after the limit", async (_, code) => {
  const limit = { manifestLimitMs: 1_500 };
  const project = createProject({ "src/kit/index.ts": code });
  const { url } = await startServer({ project, ...limit });
  const response = await fetch(`${url}api/manifest`);
  expect(response.status).toBe(422);
  expect(await errorOf(response)).toMatch(/did not finish loading within 1\.5 s\. Remove the loop/);
  expect(processesIn(project)).toEqual([]);
});

test("a project that prints a lot while it is loaded is read all the same", async () => {
  const noise =
    'const { writeSync } = await import("node:fs"); for (let n = 0; n < 50; n++) { writeSync(1, "x".repeat(100_000)); writeSync(2, "y".repeat(100_000)); }';
  const { response } = await askManifest({ "src/kit/index.ts": `${TRAINER}\n${noise}` });
  expect(await response.json()).toEqual({ trainer: { name: "dates" } });
});

test("timers, servers and processes that a project leaves are gone with the answer", async () => {
  const leaks = `
    import { spawn } from "node:child_process";
    import { createServer } from "node:net";
    import { writeFileSync } from "node:fs";
    setInterval(() => {}, 1000);
    createServer().listen(0);
    const child = spawn("sleep", ["600"]);
    process.on("SIGTERM", () => {});
    writeFileSync("pids", JSON.stringify([process.pid, child.pid]));
  `;
  const { response, project } = await askManifest({ "src/kit/index.ts": leaks + TRAINER });
  expect(await response.json()).toEqual({ trainer: { name: "dates" } });
  const pids = JSON.parse(readFileSync(join(project, "pids"), "utf8")) as number[];
  await expect.poll(() => pids.map(isRunning)).toEqual([false, false]);
});

test("a project that refuses to end is read all the same", async () => {
  const code = `${TRAINER}\nprocess.on("exit", () => { while (true); });`;
  const { response } = await askManifest({ "src/kit/index.ts": code });
  expect(await response.json()).toEqual({ trainer: { name: "dates" } });
});

test.each(['"ready"', "null", "7", '{ type: "ready" }', "{ trainer: {} }", "{ error: 1 }"])(
  "a message that the project sends to its parent is ignored: %s",
  async (message) => {
    const code = `${TRAINER}\nprocess.send?.(${message});`;
    const { response } = await askManifest({ "src/kit/index.ts": code });
    expect(await response.json()).toEqual({ trainer: { name: "dates" } });
  },
);

test("a project that cannot be written is an error with the next step", async () => {
  const { response } = await askManifest({ ".kit": "a file", "src/kit/index.ts": TRAINER });
  expect(response.status).toBe(422);
  expect(await errorOf(response)).toMatch(/^Cannot write .* Make the folder writable/);
});

test("a kit command that cannot be run is an error with its path", async () => {
  const error = await refusal("", { kit: ["/nowhere/node", "kit.js"] });
  expect(error).toMatch(/^Cannot run kit: .*\/nowhere\/node/);
});

test.each([
  ["here", () => {}],
  ["on Windows", () => simulateWindows()],
])("closing the server %s ends a project that is being read", async (_, simulate) => {
  simulate();
  const project = createProject();
  const kit = standIn(
    project,
    `writeFileSync("pid", String(process.pid)); writeFileSync("reading", ""); while (true);`,
  );
  const { url, close } = await startServer({ project, kit });
  const answer = fetch(`${url}api/manifest`).then(
    (response) => response.status,
    () => "cut off",
  );
  await expect.poll(() => existsSync(join(project, "reading"))).toBe(true);
  await close();
  const pid = Number(readFileSync(join(project, "pid"), "utf8"));
  await expect.poll(() => isRunning(pid)).toBe(false);
  await answer;
});

test("while the server closes, its run ends in peace and no project is read", async () => {
  const project = createProject();
  const code = `
    if (process.argv[2] === "manifest") writeFileSync("read", "");
    process.on("SIGTERM", () => writeSync(1, "asked"));
    writeSync(1, "running ");
    await gate("end");
    process.exit();`;
  const { url, close } = await startServer({ project, kit: standIn(project, code) });
  const output = readBody(await fetch(`${url}api/train`, { method: "POST" }));
  await output.until((text) => text === "running ");
  const closed = close();
  await output.until((text) => text.endsWith("asked"));
  const response = await fetch(`${url}api/manifest`);
  expect(response.status).toBe(422);
  expect(await errorOf(response)).toBe("kit ui is shutting down. Start it again.");
  expect(existsSync(join(project, "read"))).toBe(false);
  openGate(project, "end");
  await closed;
});

test("manifests that are asked for at once are read by four processes at a time", async () => {
  const project = createProject();
  const code = `writeFileSync("read-" + process.pid, ""); await gate("go");
    process.send({ trainer: { name: "dates" } });`;
  const reader = createManifestReader({ project, kit: standIn(project, code) });
  onTestFinished(() => reader.close());
  const read = () => readdirSync(project).filter((name) => name.startsWith("read-")).length;
  const client = new AbortController();
  const ask = (count: number, { signal } = new AbortController()) =>
    Array.from({ length: count }, () => reader.read(signal));
  const first = ask(4);
  const gone = Promise.allSettled(ask(20, client));
  const later = ask(4);
  await expect.poll(read).toBe(4);
  // A client that is gone costs no process.
  client.abort();
  openGate(project, "go");
  const manifests = await Promise.all([...first, ...later]);
  expect(manifests).toEqual(Array.from({ length: 8 }, () => ({ trainer: { name: "dates" } })));
  expect((await gone).every(({ status }) => status === "rejected")).toBe(true);
  expect(read()).toBe(8);
});

test("a manifest counts though its process is seen to end before its message is read", async () => {
  const project = createProject();
  const code = `writeFileSync("pid", String(process.pid)); await gate("go");
    process.send({ trainer: { name: "dates" } });`;
  const reader = createManifestReader({ project, kit: standIn(project, code) });
  onTestFinished(() => reader.close());
  const reading = reader.read(new AbortController().signal);
  await expect.poll(() => existsSync(join(project, "pid"))).toBe(true);
  const pid = Number(readFileSync(join(project, "pid"), "utf8"));
  // Node reaps every child that has ended when one ends, here while this one's output is read.
  const other = spawn("echo", ["something"]);
  other.stdout.once("data", () => {
    openGate(project, "go");
    while (isRunning(pid));
  });
  while (isRunning(other.pid ?? 0));
  expect(await reading).toEqual({ trainer: { name: "dates" } });
});
