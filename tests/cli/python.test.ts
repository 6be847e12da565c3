import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { readRecord } from "../../disk/json.ts";
import type { Owner } from "../../disk/owner.ts";
import { signalTree } from "../../disk/processTree.ts";
import { runKit, startKit } from "../kit.ts";
import { createProject } from "../project.ts";

/** A folder for the PATH, of programs that write down how they are called; a venv gets its Python. */
function createPrograms(project: string, ...names: string[]): string {
  const bin = join(project, "bin");
  mkdirSync(bin);
  for (const name of names) {
    const program = join(bin, name);
    const record = `echo "${name} $*" >> "${join(project, "calls")}"`;
    const environment = `if [ "$1 $2" = "-m venv" ]; then /bin/mkdir -p "$3/bin"; /bin/cp "$0" "$3/bin/python"; fi`;
    writeFileSync(program, `#!/bin/sh\n${record}\n${environment}\n`);
    chmodSync(program, 0o755);
  }
  return bin;
}

/** The calls that `kit python install` makes, without its tries whether a program is there. */
async function callsWith(...names: string[]): Promise<string[]> {
  const project = createProject({});
  const PATH = createPrograms(project, ...names);
  const { code, stdout } = await runKit(project, ["python", "install"], { PATH });
  expect([code, stdout]).toEqual([0, expect.stringContaining(".kit/python for engine: python()")]);
  const calls = readFileSync(join(project, "calls"), "utf8").trim().split("\n");
  return calls
    .filter((call) => !/ (--version|-c) ?/.test(call))
    .map((call) => call.replaceAll(project, "").replace(/\S+(?=requirements\.txt)/, ""));
}

const LOCKED = "--require-hashes --no-deps --requirement requirements.txt";

test("kit python install makes .kit/python by venv and pip, with a lock for all but torch", async () => {
  expect(await callsWith("python3")).toEqual([
    "python3 -m venv /.kit/python",
    `python3 -m pip install ${LOCKED}`,
    "python3 -m pip install torch==2.13.0",
  ]);
});

test("or by uv, where it is there", async () => {
  const into = "uv pip install --python /.kit/python/bin/python";
  expect(await callsWith("python3", "uv")).toEqual([
    "uv venv --allow-existing --python >=3.10 /.kit/python",
    `${into} ${LOCKED}`,
    `${into} --torch-backend=auto torch==2.13.0`,
  ]);
});

test("without a Python, it says what to install", async () => {
  const project = createProject({});
  const { code, stderr } = await runKit(project, ["python", "install"], { PATH: project });
  expect([code, stderr]).toEqual([
    1,
    "kit: There is no Python 3.10 or newer on the PATH. Install one with its venv module, or uv.\n",
  ]);
});

/** A Python whose pip says that it runs, and does so until it is ended. */
function createSlowPython(project: string): string {
  const bin = createPrograms(project, "python3");
  const slow = `if [ "$2" = pip ]; then echo "pip is $$"; exec /bin/sleep 1000 >/dev/null 2>&1; fi\n`;
  const path = join(bin, "python3");
  writeFileSync(path, readFileSync(path, "utf8") + slow);
  return bin;
}

const pidOf = (text: string) => Number(/pip is (\d+)/.exec(text)?.[1]);

test("an install waits for the pip that a killed one has left", async () => {
  const project = createProject({});
  const PATH = createSlowPython(project);
  const install = () => startKit(project, ["python", "install"], { PATH });
  const first = install();
  const pip = pidOf(await first.printed(/pip is \d+\n/));
  onTestFinished(() => void signalTree({ pid: pip }, "SIGKILL"));
  const owner = join(project, ".kit/python.lock/owner.json");
  const borrower = () => readRecord(owner)?.["borrower"] as Owner | undefined;
  while (borrower()?.pid !== pip) await setImmediate();
  first.child.kill("SIGKILL");
  await once(first.child, "exit");
  const second = install();
  expect(await second.printed(/waiting|pip is/)).toMatch(
    /^waiting for another kit python install in this project$/m,
  );
  signalTree({ pid: pip }, "SIGKILL");
  expect(pidOf(await second.printed(/pip is \d+\n/))).not.toBe(pip);
  second.child.kill("SIGTERM");
  expect((await second.ended).code).toBe(130);
});

test("a signal to kit python install ends pip, and a second install waits for the first", async () => {
  const project = createProject({});
  const PATH = createSlowPython(project);
  const install = () => startKit(project, ["python", "install"], { PATH });
  const first = install();
  const pip = pidOf(await first.printed(/pip is \d+\n/));
  const second = install();
  await second.printed(/^waiting for another kit python install in this project$/m);
  first.child.kill("SIGINT");
  expect((await first.ended).code).toBe(130);
  expect(existsSync(`/proc/${pip}`)).toBe(false);
  await second.printed(/pip is \d+\n/);
  second.child.kill("SIGTERM");
  expect((await second.ended).code).toBe(130);
});
