import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startKitUi } from "../../e2e/kitUi.ts";
import { CLI, createTinyProject, runKit, tinySource } from "../../kit.ts";
import { spawnProcess } from "../../process.ts";

const FAILING = tinySource({
  options: `callbacks: { onCheckpoint() { throw new Error("no\\nhow"); } },`,
});
const COMPLETED = [
  /^\x1b\[2mstep +1\/\d+ .*\x1b\[22m$/m,
  /^checkpoint .*[^m]$/m,
  /^\x1b\[1mcompleted .*\x1b\[22m$/m,
];
const FAILED = [/^\x1b\[31mfailed: no\x1b\[39m\n\x1b\[31m {2}how\x1b\[39m$/m];

/** What a command prints on a terminal, in an environment with this variable; Node gives CI no colours. */
async function onTerminal(project: string, words = "start", env = ""): Promise<string> {
  const command = `env -u CI TERM=xterm ${env} "${process.execPath}" "${CLI}" ${words}`;
  const { child } = spawnProcess("script", ["-qec", command, "/dev/null"], project);
  let shown = "";
  child.stdout?.on("data", (chunk) => (shown += String(chunk)));
  await once(child, "close");
  return shown.replaceAll("\r\n", "\n");
}

async function inBox(project: string): Promise<string> {
  const { url } = await startKitUi(project);
  return (await fetch(new URL("api/train", url), { method: "POST" })).text();
}

async function forced(project: string): Promise<string> {
  const { stdout, stderr } = await runKit(project, ["start"], { FORCE_COLOR: "1" });
  return stdout + stderr;
}

test.each([
  ["on a terminal", (project: string) => onTerminal(project)],
  ["in the page's box", inBox],
  ["in a pipe under FORCE_COLOR", forced],
])("kit start dims steps, and shows a result in bold and a failure in red %s", async (_, run) => {
  const completed = await run(createTinyProject());
  for (const line of COMPLETED) expect(completed).toMatch(line);
  const failed = await run(createTinyProject(FAILING));
  for (const line of FAILED) expect(failed).toMatch(line);
});

test.each([
  ["", true],
  ["NO_COLOR=1", false],
  ["NODE_DISABLE_COLORS=1", false],
  ["FORCE_COLOR=0", false],
  ["TERM=dumb", false],
])("an error on a terminal is red unless the environment forbids it: %s", async (env, isRed) => {
  for (const words of ["chek", "infer nothing x"]) {
    const shown = await onTerminal(createTinyProject(), words, env);
    expect(shown).toMatch(isRed ? /^(\x1b\[31m.+\x1b\[39m\n)+$/ : /^(error|kit): [^\x1b]+$/);
  }
});

test("programs that read a command meet no colours", async () => {
  const project = createTinyProject(FAILING);
  await forced(project);
  for (const words of [["jobs"], ["jobs", "--json"], ["check", "--json"], ["manifest"]]) {
    const { code, stdout } = await runKit(project, words, { FORCE_COLOR: "1" });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.not.stringMatching(/\x1b|u001b/) });
  }
  const [job = ""] = readdirSync(join(project, ".kit/jobs"));
  const log = readFileSync(join(project, ".kit/jobs", job, "events.ndjson"), "utf8");
  expect(log).not.toMatch(/\x1b|u001b/);
});
