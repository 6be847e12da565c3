import { cpSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { loadModel } from "kit";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { MODELS, buildNextApp, createNextApp, nextOf, traceKit } from "./nextApp.ts";
import { run, start } from "./packed.ts";

const QUESTION = "2+3";

let app = "";
const elsewhere = (name: string) => join(dirname(app), name);

beforeAll(async () => {
  app = await createNextApp();
  await buildNextApp(app);
  for (const [name, save] of Object.entries(MODELS)) save(elsewhere(name));
});

afterAll(() => rmSync(dirname(app), { recursive: true, force: true, maxRetries: 5 }));

/** What Kit answers outside of Next.js. */
async function expectedOf(directory: string): Promise<string> {
  const model = await loadModel(directory);
  const messages = [{ role: "user" as const, content: QUESTION }];
  const { text } = await model.infer({ messages, maxTokens: 64 });
  await model.close();
  return text;
}

/** Asks a server that is started with these words of Node's command line, in a folder. */
async function askServer(cwd: string, words: string[]): Promise<unknown> {
  const env = { PORT: "0", HOSTNAME: "127.0.0.1", NEXT_TELEMETRY_DISABLED: "1" };
  const { child, out, stop } = start(cwd, [process.execPath, ...words], env);
  onTestFinished(stop);
  await expect.poll(() => out.stdout + out.stderr).toMatch(/Local: +\S+[\s\S]*Ready|Error/);
  expect(child.exitCode, out.stderr).toBe(null);
  const [, url = ""] = /Local: +(\S+)/.exec(out.stdout) ?? [];
  const body = JSON.stringify({ question: QUESTION });
  const response = await fetch(`${url}/api/ask`, { method: "POST", body });
  expect(response.status, out.stdout + out.stderr).toBe(200);
  return response.json();
}

test.each(Object.keys(MODELS))(
  "a standalone server answers on a machine that has nothing else, with %s",
  async (name) => {
    const server = elsewhere("standalone");
    rmSync(server, { recursive: true, force: true });
    cpSync(join(app, ".next/standalone"), server, { recursive: true });
    cpSync(elsewhere(name), join(server, "model"), { recursive: true });
    const text = await expectedOf(elsewhere(name));
    expect(await askServer(server, ["server.js"])).toEqual({ text });
  },
);

test("next start answers from the same build", async () => {
  const name = Object.keys(MODELS)[1]!;
  cpSync(elsewhere(name), join(app, "model"), { recursive: true });
  const text = await expectedOf(elsewhere(name));
  expect(await askServer(app, [nextOf(app), "start", "-p", "0"])).toEqual({ text });
});

/** Asks the traced files, or those that are left of them. */
async function askTraced(traced: string, model: string): Promise<string> {
  const code = `import { loadModel } from "kit";
const model = await loadModel(process.argv[1]).catch((error) => {
  console.log(error.code, error.message);
  process.exit();
});
const messages = [{ role: "user", content: ${JSON.stringify(QUESTION)} }];
const { text } = await model.infer({ messages, maxTokens: 64 });
console.log(text);
await model.close();
`;
  return run(traced, [process.execPath, "--input-type=module", "-e", code, model]);
}

test("file tracing takes along all that answers when kit is external, and a file that is left out is named", async () => {
  const traced = elsewhere("traced");
  const files = await traceKit(app, traced);
  // Neither the command line nor what bundles a project.
  expect(files.filter((file) => /kit\/dist\/cli|esbuild|commander/.test(file))).toEqual([]);
  expect(files.filter((file) => file.endsWith("infer/decoderWorker.js"))).toHaveLength(1);
  const model = elsewhere(Object.keys(MODELS)[1]!);
  expect(await askTraced(traced, model)).toBe(`${await expectedOf(model)}\n`);

  const kept = elsewhere("kept");
  mkdirSync(kept);
  for (const [left, told] of [
    ["kit/dist/engines/embedded/infer/inferWorker.js", "inferWorker.js"],
    ["kit/dist/engines/embedded/kernels", ".wasm"],
  ] as const) {
    rmSync(kept, { recursive: true });
    cpSync(traced, kept, { recursive: true });
    rmSync(join(kept, "node_modules", left), { recursive: true });
    const said = await askTraced(kept, model);
    expect(said).toMatch(/^KIT_BUNDLED A file that Kit needs is missing \(.*\): Kit was bundled/);
    expect(said).toContain(told);
    expect(said).toContain('serverExternalPackages: ["kit"]');
    expect(said.trim().split("\n")).toHaveLength(1);
  }
});
