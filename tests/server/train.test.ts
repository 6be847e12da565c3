import { expect, test } from "vitest";
import { processesIn } from "../process.ts";
import { createProject } from "../project.ts";
import { errorOf, openGate, readBody, standIn, startServer } from "../uiServer.ts";
import { attach, outputLog, postTrain, startWith } from "./standInRun.ts";

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
    "bytes that are not UTF-8",
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
    "output before a crash",
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

test("after a run has ended the next click starts one, with an output of its own", async () => {
  const { train, project } = await startWith(
    `writeSync(1, existsSync("again") ? "second" : "the first"); writeFileSync("again", "");`,
  );
  expect(await (await train()).text()).toBe("the first");
  expect(await (await train()).text()).toBe("second");
  expect(String(outputLog(project))).toBe("second");
});

test("the request's body, query and headers never reach the run", async () => {
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
    const response = await postTrain(url);
    expect(response.status).toBe(500);
    expect(await errorOf(response)).toMatch(/^Cannot start a run in .*\.kit\/run: .* writable/);
  }
  expect((await fetch(url)).status).toBe(200);
});

test("a run whose record cannot be written is ended, and is 500", async () => {
  const project = createProject({ ".kit/run/lease.json/in-the-way": "" });
  const { url } = await startServer({ project, kit: standIn(project, `await gate("never");`) });
  expect((await postTrain(url)).status).toBe(500);
  expect((await attach(url)).status).toBe(204);
  await expect.poll(() => processesIn(project)).toEqual([]);
});

test("a kit command that cannot be run is 500 with a sentence", async () => {
  const { url } = await startServer({ kit: ["/nowhere/node", "kit.js"] });
  const response = await postTrain(url);
  expect(response.status).toBe(500);
  expect(await errorOf(response)).toContain("/nowhere/node");
  expect((await attach(url)).status).toBe(204);
});

test("the real command's answer is its output, with that of a callback in it", async () => {
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
  const response = await postTrain(url);
  expect(response.status).toBe(200);
  const body = Buffer.from(await response.arrayBuffer());
  expect(body.equals(outputLog(project))).toBe(true);
  expect(body.toString()).toContain("\0é🤖\r2");
  expect(body.toString()).toContain("to stderr\n");
  const { jobs } = (await (await fetch(`${url}api/jobs`)).json()) as { jobs: unknown[] };
  expect(jobs).toEqual([expect.objectContaining({ name: "tiny", status: "completed" })]);
});
