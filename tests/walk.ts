import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { availableSimd } from "../engines/embedded/kernels/simd.ts";
import type { TrainConfig } from "../protocol/trainConfig.ts";
import { NPM, ROOT, run, start } from "./packed.ts";

/** Shell words that run `kit` of a tarball in a folder that has nothing, by each package manager. */
const KIT_OF: Record<string, (tarball: string) => string> = {
  npm: (tarball) => `npm exec --yes --package ${tarball} -- kit`,
  pnpm: (tarball) => `pnpm --package=${tarball} dlx kit`,
  yarn: (tarball) => `yarn dlx -p ${tarball} kit`,
  // Yarn 1 has no dlx: in a folder of its own.
  "yarn@1": (tarball) =>
    `echo '{"private":true}' >package.json; yarn add ${tarball} && yarn run kit`,
  bun: (tarball) => `bunx --package ${tarball} kit`,
};

/** Shell words by which each other runtime runs an installed `kit`. */
const RUNTIMES: Record<string, string> = {
  "run-bun": "bunx --bun kit",
  "run-deno": "deno run -A --node-modules-dir=manual npm:kit",
};

/** Each tool's package in npm's registry. */
const PACKAGES: Record<string, string> = {
  pnpm: "pnpm@12",
  yarn: "@yarnpkg/cli-dist@4",
  "yarn@1": "yarn@1",
  bun: "bun@1",
  "run-bun": "bun@1",
  "run-deno": "deno@2",
};

/** Seconds that each step took. */
export interface Row {
  init: number;
  install: number;
  /** Only by package managers: no Node makes a difference to it. */
  types?: number;
  "first answer": number;
  training: number;
  /** The engine's tests: by a Node whose kernels use other instructions than the one that runs here. */
  tests?: number;
}

/**
 * A first-time user's steps, from a tarball of Kit and with empty caches.
 * @param name a package manager, or a runtime that comes with this npm: `node@22`, `run-deno`
 * @param folder an empty one
 * @param steps of the training; the quickstart's own number if undefined
 */
export async function walk(
  name: string,
  { folder, tarball, steps }: { folder: string; tarball: string; steps?: number },
): Promise<Row> {
  const home = join(folder, "home");
  const empty = join(folder, "empty");
  for (const path of [home, empty]) mkdirSync(path, { recursive: true });
  const env = {
    HOME: home,
    NPM_CONFIG_USERCONFIG: join(homedir(), ".npmrc"),
    PATH: [await install(name, join(folder, "tools")), process.env.PATH].join(delimiter),
    XDG_CACHE_HOME: undefined,
    XDG_DATA_HOME: undefined,
  };
  const shell = (cwd: string, words: string) => run(cwd, ["sh", "-c", words], env);
  const isNode = name.startsWith("node@");
  const runtime = RUNTIMES[name];
  const manager = isNode || runtime !== undefined ? "npm" : name;

  if (isNode) checkNode(name, await shell(empty, "node --version"));
  const init = `${KIT_OF[manager]?.(tarball)} init demo`;
  const [printed, initSeconds] = await timed(() => shell(empty, init));
  const next = /^next: cd demo && (\w+ install) && (\w+ run ui)$/m.exec(printed);
  if (!next) throw new Error(`There is no next step in:\n${printed}`);
  const [, installWords = "", uiWords = ""] = next;
  const demo = join(empty, "demo");
  if (steps) shorten(demo, steps);
  checkDependency(demo, tarball);
  const [, installSeconds] = await timed(() => shell(demo, installWords));
  const typecheck = async () =>
    (await timed(() => shell(demo, uiWords.replace("ui", "typecheck"))))[1];
  const types = isNode ? undefined : await typecheck();
  const page = await openPage(demo, runtime === undefined ? uiWords : `${runtime} ui`, env);
  let training: number;
  try {
    [, training] = await timed(() => train(page.url));
  } finally {
    await page.stop();
  }
  const tests = isNode ? await testKernels(name, demo, env) : undefined;
  return {
    init: initSeconds,
    install: installSeconds,
    ...(types !== undefined && { types }),
    "first answer": page.seconds,
    training,
    ...(tests !== undefined && { tests }),
  };
}

/** Installs a tool without touching the machine's own. Returns the folder of its programs. */
async function install(name: string, folder: string): Promise<string> {
  const version = /^node@(.*)/.exec(name)?.[1];
  // The package `node` brings this one by an install script.
  const arch = `node-${process.platform}-${process.arch}`;
  const wanted = version === undefined ? PACKAGES[name] : `${arch}@${version}`;
  if (wanted === undefined) return "";
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `{"private":true}\n`);
  const words = ["install", "--no-audit", "--no-fund", "--prefer-offline", wanted];
  await run(folder, [...NPM, ...words]);
  return join(folder, "node_modules", ...(version === undefined ? [".bin"] : [arch, "bin"]));
}

function checkNode(name: string, running: string): void {
  if (`${running.trim()}.`.startsWith(`${name.replace("node@", "v")}.`)) return;
  throw new Error(`Not ${name} runs, but ${running}`);
}

/** npm's registry has another package named kit. */
function checkDependency(demo: string, tarball: string): void {
  const manifest = readJson(join(demo, "package.json")) as { dependencies: { kit: string } };
  const path = manifest.dependencies.kit.replace(/^file:/, "");
  if (realpathSync(resolve(demo, path)) === tarball) return;
  throw new Error(`The project depends on ${manifest.dependencies.kit}, not on ${tarball}`);
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** Less to train, and less to ask at a checkpoint. */
function shorten(demo: string, steps: number): void {
  const path = join(demo, "src", "kit", "trainer.ts");
  const source = readFileSync(path, "utf8")
    .replace(/(?<=maxSteps: )\d+/, String(steps))
    .replace(/(?<=exactMatch \},)/, " rows: 5,");
  writeFileSync(path, source);
}

async function openPage(demo: string, words: string, env: Record<string, string | undefined>) {
  const startedAt = performance.now();
  // Where a browser would be opened, CI says that there is none.
  const { child, out, stop } = start(demo, ["sh", "-c", `exec ${words}`], { ...env, CI: "true" });
  try {
    while (!out.stdout.includes("http:")) await once(child.stdout, "data");
    const url = /http:\S+/.exec(out.stdout)?.[0] ?? "";
    const page = await (await fetch(url)).text();
    const script = /src="\.\/(assets\/[^"]+\.js)"/.exec(page)?.[1];
    const asset = await fetch(`${url}${script}`);
    if (!asset.headers.get("content-type")?.includes("javascript")) {
      throw new Error(`${url} is not the page:\n${page}`);
    }
    const manifest = await (await fetch(`${url}api/manifest`)).text();
    if (!manifest.includes("date-normalizer")) throw new Error(manifest);
    return { url, stop, seconds: secondsSince(startedAt) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Sends the request of the page's button. */
async function train(url: string): Promise<void> {
  const output = await (await fetch(`${url}api/train`, { method: "POST" })).text();
  if (!output.includes("completed in ")) throw new Error(output);
}

/** Tests whose results depend on the kernels' instructions. */
const KERNEL_TESTS = ["kernels/product", "kernels/operations", "train/threads"].map(
  (file) => `tests/engines/embedded/${file}.test.ts`,
);
const FIRST_WITH_RELAXED_SIMD = 22;

/** The seconds that the engine's tests took; undefined if the Node that runs here tests the same. */
async function testKernels(
  name: string,
  demo: string,
  env: Record<string, string | undefined>,
): Promise<number | undefined> {
  const jobs = join(demo, ".kit", "jobs");
  const [id = ""] = readdirSync(jobs);
  const job = readJson(join(jobs, id, "job.json")) as { config: TrainConfig };
  const major = Number(/@(\d+)/.exec(name)?.[1]);
  const expected = major < FIRST_WITH_RELAXED_SIMD ? "plain" : "relaxed";
  const { simd } = job.config.engine;
  if (simd !== expected) throw new Error(`${name} trains with ${simd} SIMD`);
  if (simd === availableSimd()) return undefined;
  const vitest = ["node", join("node_modules", "vitest", "vitest.mjs"), "run", "--project", "node"];
  const outside = { ...env, NODE_ENV: undefined, VITEST: undefined, VITEST_POOL_ID: undefined };
  return (await timed(() => run(ROOT, [...vitest, ...KERNEL_TESTS], outside)))[1];
}

async function timed<T>(step: () => Promise<T>): Promise<[T, seconds: number]> {
  const startedAt = performance.now();
  const result = await step();
  return [result, secondsSince(startedAt)];
}

function secondsSince(startedAt: number): number {
  return Math.round((performance.now() - startedAt) / 100) / 10;
}
