import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTinyProject, startKit } from "../kit.ts";
import { spawnModule } from "../process.ts";
import { createProject } from "../project.ts";

/** Signs that nobody would see a browser, and signs that somebody would. */
const SIGNS = ["CI", "SSH_CONNECTION", "SSH_TTY", "REMOTE_CONTAINERS", "CODESPACES"];
const DISPLAYS = ["DISPLAY", "WAYLAND_DISPLAY"];
const NONE = Object.fromEntries([...SIGNS, ...DISPLAYS].map((name) => [name, undefined]));

/** Makes a process find that it is in a container, or that it is not, wherever the tests are. */
function marked(inContainer: boolean): string {
  return `import fs from "node:fs";
    const { statSync, readFileSync } = fs;
    fs.statSync = (path, ...rest) => statSync(
      /^\\/(\\.dockerenv|run\\/\\.containerenv)$/.test(path) ? ${inContainer ? '"/"' : '"/nowhere"'} : path, ...rest);
    fs.readFileSync = (path, ...rest) => path === "/proc/self/cgroup" ? "" : readFileSync(path, ...rest);`;
}

/** An environment in which the program that opens a page writes down its address instead. */
function recorder(inContainer: boolean) {
  const folder = createProject();
  const opened = join(folder, "opened");
  const browser = join(folder, "browser");
  writeFileSync(browser, `#!/bin/sh\necho "$@" > ${opened}.part && mv ${opened}.part ${opened}\n`);
  chmodSync(browser, 0o755);
  const env = {
    ...NONE,
    BROWSER: browser,
    // Where no browser of this machine is known.
    ...{ HOME: folder, XDG_DATA_HOME: folder, XDG_DATA_DIRS: folder },
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(marked(inContainer))}`,
  };
  return { opened, env };
}

it("opens a browser where there is a display", async () => {
  const { opened, env } = recorder(false);
  const options = ["ui", "--port", "0"];
  const { printed } = startKit(createTinyProject(), options, { ...env, DISPLAY: ":0" });
  const url = /http:\S+/.exec(await printed(/\n/))?.[0] ?? "";
  await expect.poll(() => existsSync(opened)).toBe(true);
  expect(readFileSync(opened, "utf8")).toBe(`${url}\n`);
});

it("opens none where there is no display, and nothing fails", async () => {
  const { opened, env } = recorder(false);
  const { printed, child, ended } = startKit(createTinyProject(), ["ui", "--port", "0"], env);
  const line = await printed(/\n/);
  expect((await fetch(/http:\S+/.exec(line)?.[0] ?? "")).status).toBe(200);
  child.kill("SIGINT");
  expect(await ended).toEqual({ code: 0, stdout: line, stderr: "" });
  expect(existsSync(opened)).toBe(false);
});

const URL = "http://localhost:4747/";

it.each([
  ["where there is a display", URL, { DISPLAY: ":0" }, false, true],
  ["without a display", URL, {}, false, false],
  [
    "in a session from another machine",
    URL,
    { DISPLAY: ":0", SSH_TTY: "/dev/pts/1" },
    false,
    false,
  ],
  ["in a container", URL, { DISPLAY: ":0" }, true, false],
  ["with a token, which others could see", `${URL}?token=a`, { DISPLAY: ":0" }, false, false],
])("starts what opens a browser, or does not, %s", async (_, url, signs, inContainer, starts) => {
  const { line } = spawnModule(
    `import childProcess from "node:child_process";
     ${marked(inContainer)}
     const spawn = childProcess.spawn;
     childProcess.spawn = (program, args) => {
       console.log("started");
       return spawn("true", []);
     };
     for (const name of ${JSON.stringify(Object.keys(NONE))}) delete process.env[name];
     Object.assign(process.env, ${JSON.stringify(signs)});
     const { openBrowser } = await dist("cli/commands/ui.js");
     await openBrowser(${JSON.stringify(url)});
     console.log("done");`,
  );
  expect(await line()).toBe(starts ? "started" : "done");
});
