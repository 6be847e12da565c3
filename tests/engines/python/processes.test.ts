import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { python } from "kit/engines";
import { describe, expect, it, onTestFinished } from "vitest";
import { findInterpreter } from "../../../engines/python/interpreter.ts";
import { parseMessage } from "../../../engines/python/messages.ts";
import type { TrainingOptions } from "../../../protocol/trainConfig.ts";
import { createProject } from "../../project.ts";
import { ENDLESS, awaited, createTinyTrainer, enterProject, statusOf } from "../../sdk/project.ts";
import { simulatePlatform } from "../../windows.ts";
import { jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";
import { ENGINE_FOLDER, ENV, PYTHON, createPythonEngine, hasPython } from "./environment.ts";

const MODEL = { layers: 1, heads: 1, width: 8, context: 32 };
const NOISY_EVENTS = 20_000;

function program(name: string, ...words: string[]): [string, string[]] {
  return [PYTHON, ["-B", fileURLToPath(new URL(name, import.meta.url)), ENGINE_FOLDER, ...words]];
}

function askedFor(more: Partial<TrainingOptions> = {}): TrainingOptions {
  const path = scratchFile("rows.jsonl", jsonl([{ prompt: "1", completion: "2" }]));
  return { model: MODEL, dataset: { type: "jsonl", path }, maxSteps: 1, ...more };
}

/** Trains by an interpreter. @returns what it rejects with */
async function failureOf(path: string, env: Record<string, string> = {}): Promise<Error> {
  const engine = createPythonEngine({ path, env });
  const config = engine.prepare(askedFor());
  const { signal } = new AbortController();
  const onEvent = () => undefined;
  return engine.train({ config, directory: scratchDirectory(), signal, onEvent }).then(
    () => new Error("it trained"),
    (error: unknown) => error as Error,
  );
}

/** A program that stands where an interpreter does. */
function shellProgram(script: string): string {
  const path = scratchFile("python", `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** A folder for `PYTHONPATH` in which packages seem to be installed. */
function packages(versions: Record<string, string>): string {
  const folder = scratchDirectory();
  for (const [name, version] of Object.entries(versions)) {
    mkdirSync(join(folder, `${name}-${version}.dist-info`));
    const metadata = `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`;
    writeFileSync(join(folder, `${name}-${version}.dist-info`, "METADATA"), metadata);
  }
  return folder;
}

describe("an interpreter is found", () => {
  const project = () => {
    const folder = scratchDirectory();
    const add = (...names: string[]) => {
      const bin = join(folder, ...names, "bin");
      mkdirSync(bin, { recursive: true });
      writeFileSync(join(bin, "python"), "", { mode: 0o755 });
      writeFileSync(join(bin, "python3"), "", { mode: 0o755 });
      return join(folder, ...names);
    };
    return { folder, add };
  };

  it("in the order of the places, and says which", () => {
    const { folder, add } = project();
    const inner = join(folder, "a", "b");
    mkdirSync(inner, { recursive: true });
    const env: NodeJS.ProcessEnv = {};
    const found = (path?: string) => findInterpreter({ path, env, project: inner });
    expect(() => found()).toThrow(
      /^engine: python\(\) needs Python 3\.10 or newer, but none was found/,
    );
    const expectNext = (from: string, environment: string, file = "python") =>
      expect(found()).toEqual({ path: join(environment, "bin", file), from });
    env.PATH = join(add("path"), "bin");
    expectNext("PATH", join(folder, "path"), "python3");
    expectNext(".venv", add(".venv"));
    expectNext(".venv", add("a", ".venv"));
    expectNext("CONDA_PREFIX", (env.CONDA_PREFIX = add("conda")));
    expectNext("VIRTUAL_ENV", (env.VIRTUAL_ENV = add("active")));
    expectNext(".kit/python", add("a", "b", ".kit", "python"));
    env.KIT_PYTHON = join(add("kit"), "bin", "python");
    expectNext("KIT_PYTHON", join(folder, "kit"));
    for (const path of ["../../given", "../../given/bin/python"]) {
      const given = join(add("given"), "bin", "python");
      expect(found(path)).toEqual({ path: given, from: "python({ path })" });
    }
    expect(found("python3").path).toBe(join(folder, "path", "bin", "python3"));
  });

  it("on Windows, where it has other names, and the PATH is called Path", () => {
    simulatePlatform("win32");
    const project = createProject({});
    const add = (name: string) => {
      mkdirSync(dirname(join(project, name)), { recursive: true });
      writeFileSync(join(project, name), "", { mode: 0o755 });
    };
    const env: NodeJS.ProcessEnv = { Path: join(project, "path") };
    const expectNext = (from: string, name: string, path?: string) => {
      add(name);
      expect(findInterpreter({ path, env, project })).toEqual({ path: join(project, name), from });
    };
    expectNext("PATH", "path/py.exe");
    expectNext("PATH", "path/python.exe");
    expectNext(".venv", ".venv/Scripts/python.exe");
    env.CONDA_PREFIX = join(project, "conda");
    expectNext("CONDA_PREFIX", "conda/python.exe");
    expectNext(".kit/python", ".kit/python/Scripts/python.exe");
    for (const path of ["./given", "given/Scripts/python"])
      expectNext("python({ path })", "given/Scripts/python.exe", path);
  });

  it("or one is named that is not there, which is an error", () => {
    const { folder } = project();
    const search = (path?: string, env: NodeJS.ProcessEnv = {}) =>
      findInterpreter({ path, env, project: folder });
    expect(() => search("./none")).toThrow(
      `There is no Python at ${join(folder, "none")} (from python({ path })).`,
    );
    expect(() => search("python9")).toThrow("There is no Python at python9 (from");
    expect(() => search(undefined, { KIT_PYTHON: "/none" })).toThrow("(from KIT_PYTHON)");
  });
});

describe("a process that ends fails with one clear sentence", () => {
  it.each([
    ["kill -9 $$", /^The Python process was killed by SIGKILL\. Try again; if memory ran out/],
    ["exit 3", /^The Python process exited unexpectedly \(code 3\)\. See its output above\.$/],
  ])("%s", async (script, message) => {
    const error = await failureOf(shellProgram(script));
    expect(error).toMatchObject({ name: "KitError", code: "WORKER_FAILED" });
    expect(error.message).toMatch(message);
  });

  it("whoever has left its group and holds its output, as a daemon does", async () => {
    const pid = join(scratchDirectory(), "pid");
    const daemon = `setsid sh -c 'echo $$ > ${pid}; exec sleep 600' 2> /dev/null &`;
    const error = await failureOf(
      shellProgram(`${daemon}\nuntil [ -s ${pid} ]; do :; done\nexit 3`),
    );
    process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
    expect(error.message).toMatch(/^The Python process exited unexpectedly \(code 3\)\./);
  });

  it("a file that is no program", async () => {
    const path = scratchFile("python", "#!/nowhere/sh\n");
    chmodSync(path, 0o755);
    const error = await failureOf(path);
    expect(error).toMatchObject({ name: "KitError", code: "PYTHON_NOT_FOUND" });
    expect(error.message).toMatch(/cannot be run: .* Set another with python\(\{ path \}\)\.$/);
  });
});

describe.runIf(hasPython)("with Python", () => {
  it("an older Python is refused", async () => {
    const old = "import sys, runpy; sys.version_info = (3, 9, 1); runpy.run_path(sys.argv[1])";
    const child = spawn(PYTHON, ["-B", "-c", old, join(ENGINE_FOLDER, "run.py")]);
    expect(parseMessage(await text(child.stdout))).toMatchObject({
      type: "failed",
      code: "PYTHON_UNFIT",
      message: expect.stringMatching(/^Python 3\.9 at .* is too old: Kit needs 3\.10 or newer\./),
    });
  });

  it("a package that is missing or too old is named, with the command", async () => {
    // The interpreter that the environment was made with has no packages.
    const home = readFileSync(join(PYTHON, "../../pyvenv.cfg"), "utf8");
    const bare = join(/^home = (.*)$/m.exec(home)?.[1] ?? "", "python3");
    const here = { torch: "2.13.0", transformers: "5.18.0", accelerate: "1.15.0" };
    const missing = await failureOf(bare, { PYTHONPATH: packages(here) });
    expect(missing).toMatchObject({ name: "KitError", code: "PYTHON_UNFIT" });
    expect(missing.message).toMatch(
      /^The Python at \S+ lacks peft\. Install with: \S+ -m pip install --upgrade "peft>=0\.21"$/,
    );
    const older = packages({ ...here, peft: "0.21.0", transformers: "4.57.0" });
    expect((await failureOf(bare, { PYTHONPATH: older })).message).toMatch(
      /^The Python at \S+ has transformers 4\.57\.0, but Kit needs 5\.18 or newer\. Install with:/,
    );
    // Its weights_only corrupts memory: GHSA-63cw-57p8-fm3p.
    const unsafe = packages({ ...here, peft: "0.21.0", torch: "2.9.1+cu128" });
    expect((await failureOf(bare, { PYTHONPATH: unsafe })).message).toMatch(
      /^The Python at \S+ has torch 2\.9\.1\+cu128, but Kit needs 2\.13 or newer\. Install with: \S+ -m pip install --upgrade "torch>=2\.13"$/,
    );
  });

  it("a checkpoint is saved on Windows, once nobody has its files open", () => {
    const folder = join(scratchDirectory(), "step-1");
    const { stdout } = spawnSync(...program("windows.py", folder), { encoding: "utf8" });
    expect(JSON.parse(stdout)).toEqual([
      ["checksums.json", "model.safetensors"],
      [0.001, 0.002, 0.004],
    ]);
  });

  it("what libraries print tears no message", async () => {
    const child = spawn(...program("noise.py", String(NOISY_EVENTS)));
    const printed = { bytes: 0 };
    child.stderr.on("data", (chunk: Buffer) => (printed.bytes += chunk.length));
    const seqs: number[] = [];
    const kinds = new Set<string | undefined>();
    for await (const line of createInterface(child.stdout)) {
      const message = parseMessage(line) as { type: string; seq: number } | undefined;
      kinds.add(message?.type);
      seqs.push(message?.seq ?? NaN);
    }
    expect([...kinds]).toEqual(["event", "done"]);
    expect(seqs).toEqual(Array.from({ length: NOISY_EVENTS + 1 }, (_, i) => i + 1));
    expect(printed.bytes).toBeGreaterThan(10_000);
  });

  it("a process that nobody reads any more ends without a word", async () => {
    const child = spawn(PYTHON, ["-B", join(ENGINE_FOLDER, "run.py"), "config"]);
    child.stdout.destroy();
    const printed = text(child.stderr);
    expect(await once(child, "exit")).toEqual([1, null]);
    expect(await printed).toBe("");
  });

  it("a process whose stdin is lost ends, also during a long native call", async () => {
    const child = spawn(...program("hang.py", "releases"), { stdio: ["pipe", "pipe", "inherit"] });
    await untilReady(child);
    child.stdin?.end();
    expect(await once(child, "exit")).toEqual([1, null]);
  });

  // Both at once: starting PyTorch takes most of their time.
  it("kill -9 in the middle of a training: of the process, and of Kit's", async () => {
    const kit = startKit();
    const folder = scratchDirectory();
    const pids = join(folder, "pids");
    // Python imports it at its start.
    const starts = `import os, subprocess\nother = subprocess.Popen(["sleep", "600"]).pid\nopen(${JSON.stringify(pids)}, "w").write(f"{os.getpid()} {other}")\n`;
    writeFileSync(join(folder, "sitecustomize.py"), starts);
    const project = enterProject();
    const { call: logged, callback: onLog } = awaited();
    const engine = python({ path: PYTHON, env: { ...ENV, PYTHONPATH: folder } });
    const trainer = createTinyTrainer({ ...ENDLESS, engine, callbacks: { onLog } });
    const { jobId } = await trainer.start();
    await logged;
    const [child = NaN, other = NaN] = readFileSync(pids, "utf8").split(" ").map(Number);
    process.kill(child, "SIGKILL");
    await expect(trainer.wait()).rejects.toThrow(/^The Python process was killed by SIGKILL\. Try/);
    const error = expect.stringContaining("was killed by SIGKILL") as string;
    expect(statusOf(project, jobId)).toMatchObject({ job: { status: "failed" }, error });
    expect([child, other].map(isAlive)).toEqual([false, false]);

    await kit.trains;
    kit.process.kill("SIGKILL");
    // The Python process is the last that holds its output.
    await once(kit.process, "close");
  });

  it.runIf(process.platform === "linux")(
    "a process ends with Kit's, also in a call that holds Python's lock",
    async () => {
      const [path, words] = program("hang.py", "holds");
      const code = `const child = require("node:child_process").spawn(${JSON.stringify(path)}, ${JSON.stringify(words)}, { stdio: ["pipe", "inherit", "inherit"], detached: true }); child.stdin.write("{}\\n");`;
      const parent = spawn(process.execPath, ["-e", code], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await new Promise((resolve) => parent.stdout?.once("data", resolve));
      parent.kill("SIGKILL");
      // Its last holder closes it.
      parent.stdout?.resume();
      await once(parent, "close");
    },
  );
});

/** Another process that trains by the engine until it is killed. */
function startKit() {
  const engine = pathToFileURL(join(ENGINE_FOLDER, "index.js")).href;
  const options = { path: PYTHON, env: ENV };
  const code = `const { createPythonEngine } = await import(${JSON.stringify(engine)});
    const engine = createPythonEngine(${JSON.stringify(options)});
    const config = engine.prepare(${JSON.stringify(askedFor(ENDLESS))});
    const { signal } = new AbortController();
    const onEvent = ({ event }) => event === "training.log" && console.log("trains");
    await engine.train({ config, directory: ${JSON.stringify(scratchDirectory())}, signal, onEvent });`;
  const words = ["--input-type=module", "-e", code];
  const kit = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void kit.kill("SIGKILL"));
  kit.stderr.resume();
  return { process: kit, trains: once(kit.stdout, "data").then(() => kit.stdout.resume()) };
}

/** Undead ones are not: whoever started them has not asked for them yet. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return !/^(Z.*)?$/.test(stdout.trim());
}

async function untilReady(child: ChildProcess): Promise<void> {
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin?.write("{}\n");
  await once(child.stdout!, "data");
}
