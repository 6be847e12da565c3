import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  readFileSync,
  realpathSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const NPM = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ["npm"];

/** As in a terminal: `npm test` tells what it runs of its own folder. */
const ENV = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^npm_/.test(name) || /^npm_config_(cache|registry)$/.test(name),
  ),
);

interface Packed {
  filename: string;
  files: { path: string }[];
}

let folder = "";
let packed: Packed;

function start(cwd: string, program = "", ...args: string[]) {
  const child = spawn(program, args, {
    cwd,
    env: ENV,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const out = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => (out.stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (out.stderr += String(chunk)));
  return { child, out };
}

/** Runs a program to its end and returns its output. */
async function run(cwd: string, ...command: string[]): Promise<string> {
  const { child, out } = start(cwd, ...command);
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${command.join(" ")}: ${code}\n${out.stdout}${out.stderr}`);
  return out.stdout;
}

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "kit-package-")));
  // Without it npm would install into a folder above that has one.
  writeFileSync(join(folder, "package.json"), `{"private":true}\n`);
  // What is built already is packed: the build is npm's to run when it packs for real.
  const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", folder];
  [packed] = JSON.parse(await run(ROOT, ...NPM, ...pack)) as [Packed];
  const install = ["install", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline"];
  await run(folder, ...NPM, ...install, join(folder, packed.filename));
});

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

it("the package holds what runs, and nothing else", () => {
  const paths = packed.files.map(({ path }) => path);
  const isExpected = (path: string) =>
    /^dist\/[\w/-]+\.(js|d\.ts)$/.test(path) ||
    /^dist\/page\/(index\.html|assets\/[\w.-]+)$/.test(path) ||
    /^templates\/quickstart\//.test(path) ||
    ["package.json", "README.md", "LICENSE"].includes(path);
  expect(paths.filter((path) => !isExpected(path))).toEqual([]);
  expect(paths).toEqual(
    expect.arrayContaining([
      "dist/cli/kit.js",
      "dist/sdk/index.js",
      "dist/sdk/index.d.ts",
      "dist/engine/trainWorker.js",
      "dist/engine/inferWorker.js",
      "dist/page/index.html",
      "templates/quickstart/gitignore",
      "templates/quickstart/src/kit/index.ts",
    ]),
  );
  expect(paths.filter((path) => /\.kit|node_modules|test/.test(path))).toEqual([]);
});

it("npx kit init makes a project where it is installed", async () => {
  const output = await run(folder, ...NPM, "exec", "--", "kit", "init");
  expect(output).toContain(`created a Kit project in ${folder}\n`);
  expect(output).toContain("\nkept as they were: package.json\n");
  expect(readFileSync(join(folder, ".gitignore"), "utf8")).toContain(".kit/");
  expect(existsSync(join(folder, "node_modules", "kit", "dist", "cli", "kit.js"))).toBe(true);
});

it("npx kit ui serves the built page and reads the project", async () => {
  const { child, out } = start(
    folder,
    ...NPM,
    ...["exec", "--", "kit", "ui", "--port", "0", "--no-open"],
  );
  const closed = once(child, "close");
  onTestFinished(async () => {
    if (child.pid) process.kill(-child.pid, "SIGTERM");
    await closed;
  });
  await once(child.stdout, "data");
  const url = /http:\S+/.exec(out.stdout)?.[0] ?? "";
  const page = await (await fetch(url)).text();
  const script = /src="\.\/(assets\/[^"]+\.js)"/.exec(page)?.[1];
  expect((await fetch(`${url}${script}`)).headers.get("content-type")).toContain("javascript");
  const manifest = await (await fetch(`${url}api/manifest`)).json();
  expect(manifest).toEqual({ trainer: { name: "date-normalizer" } });
});

it("what imports kit type-checks, and trains", async () => {
  const source = `import { createKit, createTrainer, type Kit } from "kit";
export const trainer = createTrainer({
  name: "tiny",
  model: { layers: 1, heads: 1, width: 8, context: 32 },
  dataset: { type: "jsonl", path: "rows.jsonl" },
  maxSteps: 1,
  batchSize: 1,
  callbacks: {
    onCheckpoint: async ({ step, infer }) => {
      const answer = await infer({ messages: [{ role: "user", content: "1" }], maxTokens: 2 });
      console.log(step.toFixed(), answer.text.length, answer.tokens);
    },
  },
});
// @ts-expect-error: the options are typed
export const wrong = () => createTrainer({ name: "wrong", maxSteps: "1" });
const kit: Kit = createKit({ trainer });
export default kit;
`;
  writeFileSync(join(folder, "check.ts"), source);
  writeFileSync(join(folder, "rows.jsonl"), `{"prompt":"1","completion":"2"}\n`);
  await run(
    folder,
    ...[process.execPath, join(ROOT, "node_modules/typescript/bin/tsc"), "--ignoreConfig"],
    ...[
      "--noEmit",
      "--skipLibCheck",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2022",
      "--lib",
      "es2023",
    ],
    ...["--types", "node", "--typeRoots", join(ROOT, "node_modules/@types"), "check.ts"],
  );
  const output = await run(folder, ...NPM, "exec", "--", "kit", "start", "check.ts");
  expect(output).toMatch(/^job \S+ tiny\n/);
  expect(output).toMatch(/\ncompleted in /);
});
