import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linkDependencies } from "./clone.ts";
import { ROOT } from "./packed.ts";
import { createProject } from "./project.ts";

/** It passes on a build of sources that say so. */
const TEST = `import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
test("the command says what its source says", () => {
  const said = execFileSync(process.execPath, ["dist/cli/kit.js"], { encoding: "utf8" });
  expect(said).toBe(process.env.WANTED + "\\n");
});`;

/** What the build bundles besides the command. */
const OTHER_ENTRIES = [
  ...["cli/program", "sdk/index", "sdk/engines", "sdk/metrics"],
  "engines/embedded/train/trainWorker",
  ...["engines/embedded/step/helperWorker", "engines/embedded/infer/inferWorker"],
  ...["engines/embedded/infer/decoderWorker", "engines/python/grammar"],
];

const says = (word: string) => `console.log("${word}");\n`;

/** A clone with Kit's own scripts and settings, and as little else as they can do with. */
function createClone(): string {
  const checks = ["lint", "lint:python", "types", "format:check", "unused"].map((name) => [
    name,
    "exit 0",
  ]);
  const scripts = { ...Object.fromEntries(checks), package: "echo too large; exit 1" };
  const clone = createProject({
    "package.json": JSON.stringify({ name: "clone", type: "module", scripts }),
    "index.html": '<script type="module" src="/src/main.ts"></script>',
    "src/main.ts": says("page"),
    "cli/kit.ts": says("new"),
    ...Object.fromEntries(OTHER_ENTRIES.map((name) => [`${name}.ts`, "export {};\n"])),
    "engines/embedded/kernels/assembly/index.ts": "export function nothing(): void {}\n",
    "engines/embedded/kernels/assembly/wide.ts": "export function nothing(): void {}\n",
    "tests/kit.test.ts": TEST,
    // Whatever lies there, of modules that are there no more too.
    "dist/cli/kit.js": says("old"),
    "dist/cli/gone.js": says("gone"),
  });
  for (const name of [
    ...["package-lock.json", "tsconfig.json", "tsconfig.build.json"],
    ...["vite.config.ts", "vitest.config.ts"],
    ...["scripts", "tests/arm", "tests/longestFirst.ts", "tests/patience.ts"],
  ]) {
    cpSync(join(ROOT, name), join(clone, name), { recursive: true });
  }
  for (const name of [...["protocol", "disk", "jobs", "engines/python", "engines/ray", "server"]]) {
    mkdirSync(join(clone, name), { recursive: true });
  }
  linkDependencies(clone);
  return clone;
}

function run(clone: string, wanted: string, ...args: string[]) {
  const env = { ...process.env, WANTED: wanted, NODE_ENV: undefined, VITEST: undefined };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: clone,
    env,
    encoding: "utf8",
  });
  return { status, printed: stdout + stderr };
}

test("a clone on Windows, where git may convert line ends, has the same bytes", () => {
  const clone = createProject({});
  const files = ["README.md", "tests/engines/dataset/tables/fixtures/excel.csv"];
  const checkout = ["checkout-index", `--prefix=${clone}/`, ...files];
  const { status } = spawnSync("git", ["-c", "core.autocrlf=true", ...checkout], { cwd: ROOT });
  expect(status).toBe(0);
  for (const file of files) {
    expect(readFileSync(join(clone, file))).toEqual(readFileSync(join(ROOT, file)));
  }
});

const VITEST = ["node_modules/vitest/vitest.mjs", "run", "tests/kit.test.ts"];

test("no test runs on a stale build, by npm test or by vitest alone, and npm test says what it does", () => {
  const clone = createClone();
  const all = run(clone, "new", "scripts/test.mjs", "tests/kit.test.ts");
  const minutes = /npm test +# .*about (\d+) minutes/.exec(
    readFileSync(join(ROOT, "README.md"), "utf8"),
  )?.[1];
  const lines = all.printed.trim().split("\n");
  expect(lines[0]).toContain(`about ${minutes} minutes`);
  const stages = lines.filter((line) => /^kit: \d of 2: /.test(line));
  expect(stages, all.printed).toHaveLength(2);
  // Beside the tests, and shown after their many lines.
  expect(all.printed.split("Test Files").at(-1)).toContain("too large\n✗ package\n");
  expect(lines.at(-1)).toBe("6 passed, 1 failed");
  // Without a GPU in software, also the WebGPU engine.
  const untested = lines.filter((line) => line.startsWith("kit: not tested: "));
  for (const what of [
    ...["the Python engine", "the engines on real weights"],
    ...[
      "chat templates of published models",
      "GGUF files in llama.cpp",
      "TensorBoard, MLflow and W&B",
    ],
    ...["the Ray engine", "Linux arm64"],
  ]) {
    expect(untested).toContainEqual(expect.stringContaining(what));
  }
  expect(all.status).toBe(1);
  expect(existsSync(join(clone, "dist/cli/gone.js"))).toBe(false);

  // One part by its sources; the other is not what was built, though its sources are as they were.
  writeFileSync(join(clone, "cli/kit.ts"), says("newer"));
  writeFileSync(join(clone, "dist/page/index.html"), "old");
  const edited = run(clone, "newer", ...VITEST);
  expect(edited.status, edited.printed).toBe(0);
  expect(readFileSync(join(clone, "dist/page/index.html"), "utf8")).toContain("<script");

  writeFileSync(join(clone, "cli/kit.ts"), "const wrong: string = 1;\n");
  const broken = run(clone, "newer", ...VITEST);
  expect(broken.status).toBe(1);
  expect(broken.printed).toContain("The build failed");
  expect(broken.printed).not.toMatch(/Tests .*passed/);
});
