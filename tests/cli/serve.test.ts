import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { saveModel } from "../../engines/checkpoint/checkpoint.ts";
import { dimensionsOf } from "../../engines/families/dimensions.ts";
import { randomWeights } from "../../engines/families/randomWeights.ts";
import { createJobStore } from "../../jobs/store.ts";
import { startHub } from "../hub/server.ts";
import { createTinyProject, runKit, startKit, tinySource } from "../kit.ts";
import { createProject } from "../project.ts";
import { namesOf, sayTo, startServe, streamFrom } from "../serveCommand.ts";
import { apiErrorOf } from "../server/serve/serveServer.ts";
import { saveToolModel } from "../toolModel.ts";

const KEY = "a-key-that-nobody-may-see";
const idsIn = (project: string) =>
  createJobStore(project)
    .list()
    .map(({ id }) => id);

/** Made once: a project with a trained job, and a model of random weights that talks to the end of its context. */
let template = "";
beforeEach(async () => {
  template ||= await makeTemplate();
});
afterAll(() => rmSync(template, { recursive: true, force: true, maxRetries: 5 }));

async function makeTemplate(): Promise<string> {
  const made = createTinyProject(tinySource({ options: "learningRate: 0.1," }));
  saveToolModel(join(made, "talker"));
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "kit-serve-")));
  cpSync(made, folder, { recursive: true });
  expect((await runKit(folder, ["start"])).code).toBe(0);
  return folder;
}

function copyTemplate(): string {
  const project = createProject();
  cpSync(template, project, { recursive: true, preserveTimestamps: true });
  return project;
}

describe("kit serve", () => {
  it("answers as kit infer does, by each of the job's names", async () => {
    const [id = ""] = idsIn(template);
    const serve = await startServe(template);
    expect(await namesOf(serve)).toEqual([id, "tiny", "latest"]);
    const { stdout } = await runKit(template, ["infer", "latest", "1", "--max-tokens", "8"]);
    for (const model of [id, "tiny", "latest"]) {
      const said = await sayTo(serve, { model, max_tokens: 8 });
      expect(said).toEqual({ status: 200, model: id, text: stdout.slice(0, -1) });
    }
  });

  it("prints where it listens, its models, and a line a request, without what was said", async () => {
    const serve = await startServe(template);
    const messages = [{ role: "user", content: "1234567" }];
    await sayTo(serve, { messages, max_tokens: 2 });
    const lines = (await serve.printed(/chat\/completions/)).split("\n");
    const [id = ""] = idsIn(template);
    expect(lines[0]).toBe(`kit serve  http://localhost:${serve.port}/v1  loading …`);
    expect(lines[1]).toBe(`kit serve  ready: ${id}, tiny, latest  stop with Ctrl-C`);
    expect(lines[2]).toMatch(
      new RegExp(
        `^\\d\\d:\\d\\d:\\d\\d  200  /v1/chat/completions  ${id}  \\d+ \\+ \\d tokens  first after \\d+ ms`,
      ),
    );
    expect(lines.join()).not.toContain("1234567");
  });

  it("prints JSON for machines, and nothing else on stdout", async () => {
    const serve = await startServe(template, ["--json"]);
    await sayTo(serve, { max_tokens: 2 });
    await serve.printed(/"event":"request"/);
    serve.child.kill("SIGTERM");
    const { code, stdout } = await serve.ended;
    expect(code).toBe(0);
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    const [id = ""] = idsIn(template);
    expect(events).toEqual([
      { event: "listening", url: `http://localhost:${serve.port}/v1` },
      { event: "ready", models: [id, "tiny", "latest"] },
      expect.objectContaining({ event: "request", status: 200, model: id }),
      { event: "closing" },
    ]);
  });

  it("serves a folder under its name, and several models at once, the newest job as latest", async () => {
    const project = copyTemplate();
    await runKit(project, ["start"]);
    const [newer = "", older = ""] = idsIn(project);
    const serve = await startServe(project, [older, "talker", newer]);
    expect(new Set(await namesOf(serve))).toEqual(
      new Set([older, newer, "tiny", "latest", "talker"]),
    );
    expect((await sayTo(serve, { model: "latest", max_tokens: 1 })).model).toBe(newer);
    expect((await sayTo(serve, { model: "tiny", max_tokens: 1 })).model).toBe(newer);
    expect((await sayTo(serve, { model: older, max_tokens: 1 })).model).toBe(older);
    expect((await sayTo(serve, { model: "talker", max_tokens: 1 })).model).toBe("talker");
  });

  it("turns to a job that completes later, and lets what the old one answers end", async () => {
    const project = copyTemplate();
    const [old = ""] = idsIn(project);
    const serve = await startServe(project);
    const kept = await startServe(project, ["--no-follow"]);
    await runKit(project, ["start"]);
    const [next = ""] = idsIn(project);
    expect(next > old).toBe(true);
    await serve.printed(new RegExp(`now serving ${next}`));
    expect(await namesOf(serve)).toEqual(["tiny", "latest", next]);
    expect((await sayTo(serve, { max_tokens: 1 })).model).toBe(next);
    expect((await sayTo(serve, { model: old })).status).toBe(404);
    expect((await sayTo(kept, { max_tokens: 1 })).model).toBe(old);
  });

  it("serves an adapter's base, without it", async () => {
    const project = createTinyProject();
    const shape = dimensionsOf({ layers: 1, heads: 1, width: 8, context: 32 });
    const saved = { shape, promptStyle: "message" } as const;
    saveModel(join(project, "small"), randomWeights(shape, 1), saved);
    const lora = `model: "./small", lora: { r: 2, alpha: 4 }, learningRate: 1, maxSteps: 8,`;
    writeFileSync(join(project, "src/kit/index.ts"), tinySource({ options: lora }));
    expect((await runKit(project, ["start"])).code).toBe(0);
    const serve = await startServe(project);
    expect((await namesOf(serve)).at(-1)).toBe("base");
    const base = await sayTo(serve, { model: "base", max_tokens: 8 });
    const alone = await startServe(project, ["small"]);
    const small = await sayTo(alone, { model: "small", max_tokens: 8 });
    expect(base).toEqual({ status: 200, model: "base", text: small.text });
    expect((await sayTo(serve, { max_tokens: 8 })).text).not.toBe(base.text);
  });

  it.each([
    [
      ["--base", "talker", "--base", "latest"],
      ["talker", "latest"],
    ],
    [
      ["talker", "--base", "talker", "--alias", "gpt=talker"],
      ["talker", "gpt"],
    ],
    [
      ["--base=talker", "latest"],
      ["talker", "latest"],
    ],
  ])("serves %j by the names %j", async (args, names) => {
    expect(await namesOf(await startServe(template, args))).toEqual(expect.arrayContaining(names));
  });

  it("serves a model of the hub by its name, and asks the hub for no other, whatever callers name", async () => {
    const files = createProject();
    saveToolModel(join(files, "model"));
    const hub = await startHub({ "org/talker": { files: join(files, "model") } });
    onTestFinished(() => hub.close());
    const env = { HF_ENDPOINT: hub.endpoint, HF_HOME: files, HF_TOKEN: "hf_owner" };
    const args = ["--fine-tuning", "--base", "org/talker", "--alias", "gpt-4.1-nano=org/talker"];
    const serve = await startServe(template, args, env);
    expect(await namesOf(serve)).toEqual(["org/talker", "gpt-4.1-nano"]);
    expect((await fetch(`${serve.url}/v1/models/org/talker`)).status).toBe(200);
    expect((await sayTo(serve, { model: "org/talker", max_tokens: 1 })).status).toBe(200);
    const asked = hub.requests.length;
    for (const model of ["org/private", "org/talker@main", "./talker", "talker", template]) {
      expect((await sayTo(serve, { model })).status).toBe(404);
    }
    expect(hub.requests).toHaveLength(asked);
  });

  it("answers with the engine that trained the job, one request at a time; what it prints is no JSON line", async () => {
    const before = `import { Worker } from "node:worker_threads";
console.log("loaded"); await new Promise((go) => new Worker("console.log(1)", { eval: true }).on("exit", go));`;
    const serve = await startServe(createEngineProject(before), ["20260101", "--json"]);
    const said = await Promise.all(Array.from({ length: 5 }, () => sayTo(serve, {})));
    expect(said.map(({ text }) => text)).toEqual(Array.from({ length: 5 }, () => "open: 1"));
    await serve.printed(/("event":"request"[^]*){5}/);
    serve.child.kill("SIGTERM");
    const { stdout, stderr } = await serve.ended;
    const lines = stdout.trimEnd().split("\n");
    const events = lines.map((line) => (JSON.parse(line) as { event: string }).event);
    const requests = Array.from({ length: 5 }, () => "request");
    expect(events).toEqual(["listening", "ready", ...requests, "closing"]);
    expect(stderr).toMatch(/^loaded\n1\n(open: \d\n){5}$/);
  });
});

/** A project whose job was trained by an engine of its own, which says how many it answers at once. */
function createEngineProject(before = ""): string {
  const project = createTinyProject(
    tinySource({
      before: `let open = 0; ${before}`,
      options: `engine: {
        name: "mine",
        prepare: (asked: object) => asked,
        check: () => undefined,
        train: () => undefined,
        load: async () => ({
          infer: async () => {
            const text = "open: " + ++open;
            process.stdout.write(text + "\\n");
            await new Promise((resolve) => setTimeout(resolve, 20));
            open--;
            return { text, finishReason: "stop", promptTokens: 1, tokens: 1 };
          },
          close: async () => {},
        }),
      } as never,`,
    }),
  );
  const config = { engine: { name: "mine" } };
  const job = { name: "x", createdAt: "2026-01-01T00:00:00Z", config };
  const files = createProject({ "job.json": JSON.stringify(job), "artifacts/step-1/x": "" });
  cpSync(files, join(project, ".kit/jobs/20260101-000000-000-aaaa"), { recursive: true });
  return project;
}

describe("a kit serve that other machines reach", () => {
  const OPEN = ["serve", "--port", "0", "--host", "0.0.0.0"];

  it("needs a key, which nothing shows", async () => {
    const without = await runKit(template, OPEN);
    expect(without).toMatchObject({ code: 2, stdout: "" });
    expect(without.stderr).toMatch(
      /^kit: Without a key, anyone who reaches 0\.0\.0\.0 .*Set KIT_SERVE_KEY/,
    );
    for (const key of ["", "short-key", "with a space in the key", `${KEY}\n${KEY}`]) {
      const { code, stdout, stderr } = await runKit(template, OPEN, { KIT_SERVE_KEY: key });
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain("The key in KIT_SERVE_KEY needs at least 16 characters");
      if (key !== "") expect(stderr).not.toContain(key);
    }

    const serve = await startServe(template, ["--host", "0.0.0.0"], { KIT_SERVE_KEY: KEY });
    expect((await sayTo(serve, {})).status).toBe(401);
    const headers = { Authorization: `Bearer ${KEY}` };
    const wrong = { Authorization: `Bearer ${KEY}x` };
    const body = { model: "latest", messages: [{ role: "user", content: "1" }], max_tokens: 1 };
    expect((await serve.post("chat/completions", body, headers)).status).toBe(200);
    const refused = await serve.post("chat/completions", body, wrong);
    expect((await apiErrorOf(refused)).message).not.toContain(KEY);
    const pid = serve.child.pid ?? 0;
    expect(readFileSync(`/proc/${pid}/cmdline`, "utf8")).not.toContain(KEY);
    serve.child.kill("SIGTERM");
    const { stdout, stderr } = await serve.ended;
    expect(stdout + stderr).not.toContain(KEY);
  });

  it("takes the key from a file, and says so without a part of it if it cannot", async () => {
    const files = createProject({ key: `${KEY}\n`, short: "short" });
    const serve = await startServe(template, ["--key-file", join(files, "key")]);
    const models = (key: string) =>
      fetch(`${serve.url}/v1/models`, { headers: { Authorization: `Bearer ${key}` } });
    expect((await models(KEY)).status).toBe(200);
    expect((await models(`${KEY}\n`.trim() + "x")).status).toBe(401);
    for (const [file, said] of [
      ["short", "The key in the --key-file needs at least 16"],
      ["nothing", "Check --key-file."],
    ] as const) {
      const { code, stderr } = await runKit(template, ["serve", "--key-file", join(files, file)]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
    }
  });

  it("hides it from the project's own code", async () => {
    const before = `console.error("key seen:", String(process.env.KIT_SERVE_KEY));`;
    const env = { KIT_SERVE_KEY: KEY };
    const { printed } = await startServe(createEngineProject(before), ["20260101"], env);
    expect(await printed(/key seen/)).toContain("key seen: undefined");
  });
});

describe("a kit serve that cannot start", () => {
  it.each([
    [["nothing"], 2, /^kit: No job, folder or file named nothing in /],
    [["--port", "x"], 2, /It must be a whole number from 0 to 65535\./],
    [["--max-waiting", "-1"], 2, /max-waiting/],
    [["--host", "a b"], 2, /^kit: --host "a b" is not valid\./],
    [["--allowed-host", "a/b"], 2, /^kit: --allowed-host "a\/b" is not valid\./],
    [
      ["--allowed-origin", "app.example"],
      2,
      /^kit: --allowed-origin "app\.example" is not valid\. Pass an origin/,
    ],
    [["--allowed-origin", "*"], 2, /is not valid/],
    [["--allowed-origin", "https://app.example/path"], 2, /is not valid/],
    [["--quantize", "q5"], 2, /q8_0, q4_0/],
    [["src/kit"], 1, /^kit: There is no /],
  ])("says why in one sentence: %j", async (args, code, message) => {
    const all = args.includes("--port") ? args : ["--port", "0", ...args];
    const ended = await runKit(template, ["serve", ...all]);
    expect({ code: ended.code, stderr: ended.stderr }).toEqual({
      code,
      stderr: expect.stringMatching(message),
    });
  });

  it.each([
    [[], /^kit: There is no job in \S+ yet\. Run npx kit start .*first\.\n$/],
    [["--fine-tuning"], /^kit: There is no model in \S+ yet\. Name one .* --base \S+\.\n$/],
  ])("names what to do without a job: %j", async (options, message) => {
    const { code, stderr } = await runKit(createTinyProject(), [
      "serve",
      "--port",
      "0",
      ...options,
    ]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  it("takes no other port than the one it was given", async () => {
    const taker = createServer();
    onTestFinished(() => void taker.close());
    taker.listen({ host: "127.0.0.1", port: 0 });
    await once(taker, "listening");
    const { port } = taker.address() as AddressInfo;
    const { code, stderr } = await runKit(template, ["serve", "--port", `${port}`]);
    expect([code, stderr]).toEqual([
      1,
      `kit: Port ${port} is taken. Choose another with --port, or 0 for any free one.\n`,
    ]);
  });
});

describe("a kit serve that is told to end", () => {
  const body = { model: "talker", messages: [{ role: "user", content: "1" }] };

  it("lets streams end, and takes no more requests", async () => {
    const serve = await startServe(template, ["talker"]);
    const stream = streamFrom(serve.port, body, /"content":"./);
    await stream.began;
    serve.child.kill("SIGTERM");
    const { text, isWhole } = await stream.ended;
    expect([isWhole, text.endsWith("data: [DONE]\n\n")]).toEqual([true, true]);
    expect((await serve.ended).code).toBe(0);
    await expect(fetch(`${serve.url}/health`)).rejects.toThrow();
  });

  it("ends at once when it is told twice, while it loads too", async () => {
    const serve = await startServe(template, ["talker"]);
    const streams = Array.from({ length: 8 }, () => streamFrom(serve.port, body, /"content":"./));
    await Promise.all(streams.map(({ began }) => began));
    serve.child.kill("SIGTERM");
    serve.child.kill("SIGINT");
    expect((await serve.ended).code).toBe(0);
    const loading = startKit(template, ["serve", "--port", "0", "talker"]);
    await loading.printed(/loading/);
    loading.child.kill("SIGTERM");
    expect((await loading.ended).code).toBe(0);
  });
});
