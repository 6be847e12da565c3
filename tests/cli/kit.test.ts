import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hasBrowser } from "../../cli/commands/ui.ts";
import { loadTrainer } from "../../cli/project/loadTrainer.ts";
import { runKit, startKit } from "../kit.ts";
import { ROOT } from "../packed.ts";
import { createProject } from "../project.ts";

describe("kit", () => {
  it("--help lists the commands, and only those for people", async () => {
    const { code, stdout, stderr } = await runKit("/", ["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const command of ["init", "build", "start", "ui"]) {
      expect(stdout).toMatch(new RegExp(`^  ${command} `, "m"));
    }
    expect(stdout).not.toContain("manifest");
  });

  it.each(["", "init", "build", "check", "start", "ui", "jobs", "infer"])(
    "%s --help gives examples, of commands and options that there are",
    async (command) => {
      const { stdout } = await runKit("/", [...(command ? [command] : []), "--help"]);
      const [help = "", examples = ""] = stdout.split("\nExamples:\n");
      const lines = examples.trimEnd().split("\n");
      expect(lines.length).toBeGreaterThan(1);
      for (const line of lines) {
        // No npx, which fetches another package named kit where this one is not installed.
        expect(line).toMatch(
          new RegExp(
            `^  (kit build && )?kit ${command || "(init|start|ui|infer|serve)"}( \\S+)*  +\\S`,
          ),
        );
        for (const option of line.match(/ --[a-z-]+/g) ?? []) expect(help).toContain(option);
      }
    },
  );

  it("--help into a closed pipe succeeds", async () => {
    const { child, ended } = startKit("/", ["--help"]);
    child.stdout.destroy();
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("--version prints the package's", async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      version: string;
    };
    expect((await runKit("/", ["--version"])).stdout).toBe(`${version}\n`);
  });

  it.each([
    [["train"], /unknown command 'train'/],
    [["start", "--gpu"], /unknown option '--gpu'/],
    [["start", "a.ts", "b.ts"], /too many arguments/],
    [["start", "--project"], /argument missing/],
    [
      ["serve", "--engine", "webgpu"],
      /kit serve doesn't run webgpu\(\)\. Leave out --engine: the engine that trained/,
    ],
    [
      ["ui", "--port", "http"],
      /--port <n>' argument 'http' is invalid\. It must be a whole number/,
    ],
    [["ui", "--port", "65536"], /from 0 to 65535/],
    [["ui", "--port", "-1"], /from 0 to 65535/],
    [["ui", "--port", "1.5"], /from 0 to 65535/],
    [
      ["ui", "--project", "/none/such"],
      /^kit: There is no folder \/none\/such\. Check --project\.\n$/,
    ],
    [[], /Usage: kit/],
  ])("%j is wrong use: exit code 2", async (args, message) => {
    const { code, stdout, stderr } = await runKit("/", args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });
});

describe("words of other tools are told in Kit's", () => {
  it.each([
    [["train"], "Did you mean npx kit start?"],
    [["trian"], "Did you mean npx kit start?"],
    [["fine-tune"], "Did you mean npx kit start?"],
    [["run", "--epochs", "3"], "Did you mean npx kit start?"],
    [["strat"], "Did you mean npx kit start?"],
    [["chat", "latest"], "Did you mean npx kit infer?"],
    [["genrate"], "Did you mean npx kit infer?"],
    [["evaluate"], "Did you mean npx kit eval?"],
    [["list"], "Did you mean npx kit jobs?"],
    [["stop", "latest"], "Did you mean npx kit cancel?"],
    [["resume"], "Did you mean npx kit start --resume?"],
    [["xyzzy"], "kit --help lists the commands"],
    [["start", "--epochs", "3"], "set numTrainEpochs in createTrainer("],
    [["start", "--num_train_epochs=3"], "set numTrainEpochs in createTrainer("],
    [["start", "--lr", "1e-4"], "set learningRate in createTrainer("],
    [["start", "--batch-size", "4"], "set batchSize in createTrainer("],
    [["start", "--per_device_train_batch_size", "4"], "set batchSize in createTrainer("],
    [["start", "--max-steps", "3"], "set maxSteps in createTrainer("],
    [["check", "--model", "org/a"], "set model in createTrainer("],
    [["build", "--dataset", "a.jsonl"], "set dataset in createTrainer("],
    [["start", "--resum"], "Did you mean --resume?"],
    [
      ["infer", "latest", "hello", "it's me"],
      String.raw`Quote the prompt: npx kit infer latest 'hello it'\''s me'`,
    ],
    [["infer", "latest", "a", "b", "--seed", "1"], 'Quote the prompt: npx kit infer latest "…"'],
  ])("%j", async (args, meant) => {
    const { code, stderr } = await runKit("/", args);
    expect(code).toBe(2);
    expect(stderr).toContain(meant);
    expect(stderr.match(/Did you mean/g) ?? []).toHaveLength(meant.startsWith("Did") ? 1 : 0);
  });
});

describe("a browser is opened", () => {
  it.each<[string, NodeJS.Platform, NodeJS.ProcessEnv, boolean]>([
    ["on a Mac", "darwin", {}, true],
    ["on Windows", "win32", {}, true],
    ["on Linux with X", "linux", { DISPLAY: ":0" }, true],
    ["on Linux with Wayland", "linux", { WAYLAND_DISPLAY: "wayland-0" }, true],
    ["with Wayland and an empty DISPLAY", "linux", { DISPLAY: "", WAYLAND_DISPLAY: "w" }, true],
    ["on Linux without a display", "linux", {}, false],
    ["in CI", "darwin", { CI: "true" }, false],
    ["over SSH", "linux", { DISPLAY: ":10", SSH_CONNECTION: "1" }, false],
    ["in a terminal over SSH", "darwin", { SSH_TTY: "/dev/pts/0" }, false],
    ["in a development container", "linux", { DISPLAY: ":0", REMOTE_CONTAINERS: "true" }, false],
    ["in a codespace", "linux", { DISPLAY: ":0", CODESPACES: "true" }, false],
  ])("%s (%s, %o): %s", (_, platform, env, expected) => {
    expect(hasBrowser(env, platform)).toBe(expected);
  });
});

it("a bundle that waits while something is open is given up after a limit", async () => {
  const project = createProject({
    "index.mjs": "await new Promise((resolve) => setTimeout(resolve, 2 ** 30).unref());",
  });
  await expect(loadTrainer(`${project}/index.mjs`, "src/kit/long.ts", 50)).rejects.toMatchObject({
    code: "IMPORT_STUCK",
    message: expect.stringMatching(/^src\/kit\/long\.ts did not finish loading within 0\.05 s\./),
  });
});
