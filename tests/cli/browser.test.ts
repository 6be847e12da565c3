import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Command, createTinyProject, startKit } from "../kit.ts";
import { createProject } from "../project.ts";

/** What tells `kit ui` that nobody would see a browser. */
const SIGNS = ["CI", "SSH_CONNECTION", "SSH_TTY", "REMOTE_CONTAINERS", "CODESPACES"];
const DISPLAYS = ["DISPLAY", "WAYLAND_DISPLAY"];

/** Makes a process find that it is in a container, or that it is not, wherever the tests are. */
function marked(inContainer: boolean): string {
  const code = `import fs from "node:fs"; import { syncBuiltinESMExports } from "node:module";
    const real = fs.existsSync;
    fs.existsSync = (path) => path === "/.dockerenv" ? ${inContainer} : real(path);
    syncBuiltinESMExports();`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

/** `kit ui` where the program that opens a page writes down its address instead. */
function startUi(
  signs: Record<string, string>,
  { inContainer = false, options = [] as string[] } = {},
): Command & { opened: string } {
  const folder = createProject();
  const opened = join(folder, "opened");
  const browser = join(folder, "browser");
  writeFileSync(browser, `#!/bin/sh\necho "$@" > ${opened}.part && mv ${opened}.part ${opened}\n`);
  chmodSync(browser, 0o755);
  const none = Object.fromEntries([...SIGNS, ...DISPLAYS].map((name) => [name, undefined]));
  const env = {
    ...none,
    BROWSER: browser,
    // Where no browser of this machine is known.
    ...{ HOME: folder, XDG_DATA_HOME: folder, XDG_DATA_DIRS: folder },
    NODE_OPTIONS: marked(inContainer),
    ...signs,
  };
  return { ...startKit(createTinyProject(), ["ui", "--port", "0", ...options], env), opened };
}

it("opens a browser where there is a display", async () => {
  const { printed, opened } = startUi({ DISPLAY: ":0" });
  const url = /http:\S+/.exec(await printed(/\n/))?.[0] ?? "";
  await expect.poll(() => existsSync(opened), { timeout: 10_000 }).toBe(true);
  expect(readFileSync(opened, "utf8")).toBe(`${url}\n`);
});

it.each([
  ["without a display", {}, {}],
  ["in a session from another machine", { DISPLAY: ":0", SSH_TTY: "/dev/pts/1" }, {}],
  ["in a container", { DISPLAY: ":0" }, { inContainer: true }],
  ["with a token, which others could see", { DISPLAY: ":0" }, { options: ["--host", "0.0.0.0"] }],
])("opens no browser %s, and nothing fails", async (_, signs, more) => {
  const { printed, child, ended, opened } = startUi(signs, more);
  const line = await printed(/\n/);
  const { status } = await fetch(/http:\S+/.exec(line)?.[0] ?? "", { redirect: "manual" });
  expect(status).toBeLessThan(400);
  child.kill("SIGINT");
  expect(await ended).toEqual({ code: 0, stdout: line, stderr: "" });
  expect(existsSync(opened)).toBe(false);
});
