import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { UIMessageChunk } from "ai";
import { transform } from "esbuild";
import { expect, test, vi } from "vitest";
import { createContainer } from "../container.ts";
import { spawnProcess } from "../process.ts";
import { createProject } from "../project.ts";
import { leaveInTheMidst, sayTo, startServe } from "../serveCommand.ts";
import { saveToolModel } from "../toolModel.ts";
import { readBody } from "../uiServer.ts";
import { ROOT, readPage, snippetsOf } from "./snippets.ts";

const PAGE = readPage("serve.md");
const KEY = "a-key-of-sixteen-or-more";

test("the Next.js route of serve.md streams an answer, and its place is free when the visitor leaves", async () => {
  const project = createProject();
  // Long enough to be left.
  saveToolModel(join(project, "latest"), { context: 4096 });
  const serve = await startServe(project, ["./latest"], { KIT_SERVE_KEY: KEY });
  vi.stubEnv("KIT_URL", serve.baseURL);
  vi.stubEnv("KIT_SERVE_KEY", KEY);
  const found = snippetsOf(PAGE).find(({ path }) => path === "app/api/chat/route.ts");
  const { code } = await transform(found?.code ?? "", { loader: "ts" });
  const route = join(project, "app/api/chat/route.mjs");
  mkdirSync(dirname(route), { recursive: true });
  writeFileSync(route, code);
  symlinkSync(join(ROOT, "node_modules"), join(project, "node_modules"));
  const { POST } = (await import(pathToFileURL(route).href)) as {
    POST: (request: Request) => Promise<Response>;
  };
  vi.unstubAllEnvs();
  const ask = (signal?: AbortSignal) => {
    const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "1" }] }];
    const body = JSON.stringify({ messages });
    return POST(new Request("http://localhost/api/chat", { method: "POST", body, signal }));
  };
  const chunks = (await (await ask()).text())
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice("data: ".length)) as UIMessageChunk);
  const text = chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");
  const headers = { Authorization: `Bearer ${KEY}` };
  const messages = [{ role: "user", content: "1" }];
  const whole = await serve.post("chat/completions", { model: "latest", messages }, headers);
  const answer = (await whole.json()) as { choices: { message: { content: string } }[] };
  expect(text).toBe(answer.choices[0]?.message.content);
  expect(text.length).toBeGreaterThan(100);

  await leaveInTheMidst(serve, async () => {
    const leaving = new AbortController();
    const left = readBody(await ask(leaving.signal));
    await left.until((part) => part.includes("text-delta"));
    leaving.abort();
  });
});

/** What a container's engine does with the instructions of serve.md, as far as it can be done without one. */
test("the last lines of serve.md's Dockerfile answer other machines, with a key, and end at SIGTERM", async () => {
  const docker = snippetsOf(PAGE).find(({ language }) => language === "dockerfile")?.code ?? "";
  const wordsOf = (instruction: string) => {
    const [, words = "[]"] = new RegExp(`^${instruction} (\\[.*\\])$`, "m").exec(docker) ?? [];
    return JSON.parse(words) as string[];
  };
  const app = createProject({ "package.json": "{}" });
  mkdirSync(join(app, "node_modules/.bin"), { recursive: true });
  symlinkSync(ROOT, join(app, "node_modules/kit"));
  symlinkSync("../kit/dist/cli/kit.js", join(app, "node_modules/.bin/kit"));
  const model = createProject();
  saveToolModel(join(model, "model"));
  cpSync(join(model, "model"), join(app, "model"), { recursive: true });

  const { address, enter } = await createContainer();
  const variables = [...docker.matchAll(/^ENV (\S+)$/gm)].map(([, variable = ""]) => variable);
  const env = ["env", ...variables, `KIT_SERVE_KEY=${KEY}`];
  const [program = "", ...args] = [...enter, ...env, ...wordsOf("CMD")];
  const { child, line } = spawnProcess(program, args, app);
  while (!(await line()).includes("ready"));
  const [, port] = /^EXPOSE (\d+)$/m.exec(docker) ?? [];
  const url = `http://${address}:${port}`;
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await fetch(`${url}/v1/models`)).status).toBe(401);
  const post = (path: string, body: object) =>
    fetch(`${url}/v1/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${KEY}` },
      body: JSON.stringify(body),
    });
  expect((await sayTo({ post }, { model: "model", max_tokens: 2 })).status).toBe(200);
  const [, ...check] = wordsOf("HEALTHCHECK CMD");
  const healthy = spawnProcess(
    enter[0] ?? "",
    [...enter.slice(1), process.execPath, ...check],
    app,
  );
  const exitOf = (process: typeof child) =>
    new Promise((resolve) => void process.once("exit", resolve));
  expect(await exitOf(healthy.child)).toBe(0);
  const ended = exitOf(child);
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});
