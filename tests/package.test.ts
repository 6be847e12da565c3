import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Packed, NPM, ROOT, createFolder, pack, run } from "./packed.ts";

/** The size and packages that installing Kit brings. */
const MAX_PACKAGES = 27;
const MAX_BYTES = 20e6;

let folder = "";
let packed: Packed;

beforeAll(async () => {
  folder = createFolder();
  // Without it npm would install into a folder above that has one.
  writeFileSync(join(folder, "package.json"), `{"private":true}\n`);
  packed = await pack(folder);
  // The rest of the test shows that no install script is needed.
  const install = ["install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"];
  await run(folder, [...NPM, ...install, "--prefer-offline", join(folder, packed.filename)]);
});

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

it("the package holds the files that it needs to run, and nothing else", () => {
  const paths = packed.files.map(({ path }) => path);
  const isExpected = (path: string) =>
    /^dist\/[\w/-]+\.d\.ts$/.test(path) ||
    /^dist\/(chunks\/[\w-]+|cli\/(kit|program)|sdk\/(index|engines|metrics)|engines\/\w+\/\w+\/\w+Worker)\.js$/.test(
      path,
    ) ||
    /^dist\/engines\/embedded\/kernels\/(plain|relaxed|wide)\.wasm$/.test(path) ||
    /^dist\/engines\/python\/(run|kit_engine\/([a-z]+\/){0,2}\w+)\.py$/.test(path) ||
    path === "dist/engines/constants.json" ||
    path === "dist/engines/python/kit_engine/answer/grammar.js" ||
    /^dist\/engines\/ray\/kit_ray\/\w+\.py$/.test(path) ||
    path === "dist/engines/python/requirements.txt" ||
    /^dist\/page\/(index\.html|assets\/[\w.-]+|favicon\/\w+\.svg)$/.test(path) ||
    /^templates\/(quickstart|finetune)\//.test(path) ||
    /^docs\/[\w-]+\.(md|yaml)$/.test(path) ||
    /^(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md$/.test(path) ||
    ["package.json", "LICENSE"].includes(path);
  expect(paths.filter((path) => !isExpected(path))).toEqual([]);
  expect(paths).toEqual(
    expect.arrayContaining([
      "dist/cli/kit.js",
      "dist/sdk/index.js",
      "dist/sdk/index.d.ts",
      "dist/engines/embedded/train/trainWorker.js",
      "dist/engines/embedded/step/helperWorker.js",
      "dist/engines/embedded/infer/inferWorker.js",
      "dist/engines/embedded/infer/decoderWorker.js",
      "dist/engines/embedded/kernels/plain.wasm",
      "dist/engines/embedded/kernels/relaxed.wasm",
      "dist/engines/embedded/kernels/wide.wasm",
      "dist/engines/python/run.py",
      "dist/engines/constants.json",
      "dist/engines/python/kit_engine/main.py",
      "dist/engines/python/kit_engine/answer/grammar.js",
      "dist/engines/ray/kit_ray/driver.py",
      "dist/page/index.html",
      "templates/quickstart/gitignore",
      "templates/quickstart/src/kit/index.ts",
    ]),
  );
  expect(paths.filter((path) => /\.kit|node_modules|test/.test(path))).toEqual([]);
});

it("every file that its documentation links to is in the package", () => {
  const paths = packed.files.map(({ path }) => path);
  // CONTRIBUTING.md is about a clone, and pictures would be two thirds of the package.
  const pages = paths.filter((path) => /^(docs\/[\w-]+|README|CHANGELOG|SECURITY)\.md$/.test(path));
  const links = pages.flatMap((page) => {
    const text = readFileSync(join(folder, "node_modules", "kit", page), "utf8");
    const targets = [...text.matchAll(/(?<!!)\[[^\]]*\]\(([^)#]+)(#[^)]*)?\)/g)].map(
      ([, target = ""]) => target,
    );
    return targets
      .filter((target) => !/^https?:/.test(target))
      .map((target) => join(dirname(page), target));
  });
  expect(links).toContain("docs/trainer.md");
  expect(links.filter((link) => !paths.includes(link))).toEqual([]);
});

it("it installs at most 27 packages and 20 MB, without a compiler or a download of their own", () => {
  const lock = readFileSync(join(folder, "node_modules", ".package-lock.json"), "utf8");
  const { packages } = JSON.parse(lock) as { packages: Record<string, Installed> };
  const installed = Object.entries(packages).filter(([path]) => existsSync(join(folder, path)));
  const bytes = sizeOf(join(folder, "node_modules"));
  console.log(`package: ${installed.length} packages, ${(bytes / 1e6).toFixed(1)} MB`);
  expect(installed.length).toBeLessThanOrEqual(MAX_PACKAGES);
  expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
  // Its script runs the binary that came with it once; only where there is none does it look for one.
  const withScripts = installed.filter(([, { hasInstallScript }]) => hasInstallScript);
  expect(withScripts.map(([path]) => path)).toEqual(["node_modules/esbuild"]);
});

it("npx kit init adds a project to the folder where it is installed, or makes another", async () => {
  const before = readManifest(folder);
  const output = await run(folder, [...NPM, "exec", "--", "kit", "init"]);
  expect(output).toContain("\nadded to: package.json (scripts.ui");
  expect(output).toContain("\nnext: npm install && npm run ui\n");
  expect(readManifest(folder)).toMatchObject(before);
  expect(readFileSync(join(folder, ".gitignore"), "utf8")).toContain(".kit/");

  await run(folder, [...NPM, "exec", "--", "kit", "init", "nested/demo"]);
  const { dependencies } = readManifest(join(folder, "nested", "demo"));
  // Not a version, which npm's registry has of somebody else's package.
  expect(dependencies).toEqual({ kit: `file:../../${packed.filename}` });
});

it("a project that imports kit type-checks, and trains", async () => {
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
  await run(folder, [
    ...[process.execPath, join(ROOT, "node_modules/typescript/bin/tsc"), "--ignoreConfig"],
    ...["--noEmit", "--skipLibCheck", "--strict", "--module", "nodenext"],
    ...["--target", "es2022", "--lib", "es2023", "--types", "node"],
    ...["--typeRoots", join(ROOT, "node_modules/@types"), "check.ts"],
  ]);
  const output = await run(folder, [...NPM, "exec", "--", "kit", "start", "check.ts"]);
  expect(output).toMatch(/^job \S+ tiny\n/);
  expect(output).toMatch(/\ncompleted in /);
});

it("its types compile with TypeScript 5.4, libraries checked too, and hold nothing of an engine", async () => {
  const own = join(folder, "older");
  mkdirSync(own);
  writeFileSync(join(own, "package.json"), `{"private":true,"type":"module"}\n`);
  const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  await run(own, [...NPM, ...install, "typescript@5.4.5", "@types/node@20"]);
  const source = `import * as kit from "kit";
import { python } from "kit/engines";
export const all: typeof kit = kit;
const engine = python({ path: "python3", env: { A: "1" }, bf16: true });
const dataset = { type: "jsonl", path: "a" } as const;
export const trainer = kit.createTrainer({ name: "a", dataset, engine });
`;
  writeFileSync(join(own, "check.ts"), source);
  const output = await run(own, [
    ...[process.execPath, "node_modules/typescript/bin/tsc", "--listFiles", "--noEmit", "--strict"],
    ...["--module", "nodenext", "--target", "es2022", "--lib", "es2023", "--types", "node"],
    "check.ts",
  ]);
  const read = [...output.matchAll(/\/kit\/dist\/(\w+)\/\S+/g)].map(([, part]) => part);
  expect(new Set(read)).toEqual(new Set(["sdk", "protocol"]));
});

interface Installed {
  hasInstallScript?: boolean;
}

function readManifest(project: string): { dependencies: Record<string, string> } {
  return JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
}

/** Size of all files below a folder, in bytes. */
function sizeOf(directory: string): number {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" });
  return files.reduce((bytes, file) => {
    const stats = lstatSync(join(directory, file));
    return bytes + (stats.isFile() ? stats.size : 0);
  }, 0);
}
