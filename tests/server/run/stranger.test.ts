import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { isRunning, spawnProcess } from "../../process.ts";
import { createProject } from "../../project.ts";
import { standIn } from "../../uiServer.ts";
import { attach, pidIn, postTrain, writeRun } from "../standInRun.ts";

/**
 * Turns into a program that sees no `/proc`, as on macOS.
 * @param ps whether there is a `ps` that still tells of processes, as there
 */
function withoutProc({ ps }: { ps: boolean }): string[] {
  const folder = createProject();
  const [bin, root] = [join(folder, "bin"), join(folder, "root")];
  for (const made of [bin, root]) mkdirSync(made);
  writeFileSync(
    join(bin, "ps"),
    `#!/bin/sh\n${ps ? `exec chroot ${root} /bin/ps "$@"` : "exit 1"}\n`,
  );
  chmodSync(join(bin, "ps"), 0o755);
  const hide = `mount --rbind / ${root} && mount -t tmpfs none /proc && PATH=${bin}:$PATH exec "$@"`;
  return ["unshare", "--mount", "sh", "-c", hide, "sh"];
}

const SERVER = `
  const { startUiServer } = await import(process.argv[1]);
  const [project, page, ...kit] = process.argv.slice(2);
  const { port, close } = await startUiServer({ project, page, kit, host: "127.0.0.1", port: 0, graceMs: 100 });
  process.on("SIGTERM", () => close().then(() => process.exit()));
  console.log(port);`;

async function serveWithoutProc(project: string, ps: boolean, code: string) {
  const page = createProject({ "index.html": "" });
  const dist = pathToFileURL(`${import.meta.dirname}/../../../dist/server/server.js`).href;
  const [program = "", ...within] = withoutProc({ ps });
  const node = [process.execPath, "--input-type=module", "-e", SERVER, dist, project, page];
  const server = spawnProcess(program, [...within, ...node, ...standIn(project, code)]);
  const url = `http://127.0.0.1:${await server.line()}/`;
  const close = async () => {
    server.child.kill("SIGTERM");
    if (server.child.exitCode === null) await new Promise((go) => server.child.once("exit", go));
  };
  return { url, close, server };
}

/** Somebody else's program, in a process group of its own. */
function startStranger(): number {
  const stranger = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
  onTestFinished(() => void stranger.kill("SIGKILL"));
  return stranger.pid ?? 0;
}

test.each([
  ["of unknown start", null, true],
  ["that started at another time", "Thu Jan 1 00:00:00 1970", true],
  ["that ps cannot show", "Thu Jan 1 00:00:00 1970", false],
])(
  "without /proc, a process %s is not taken for a run, and is left alone",
  async (_, startTime, ps) => {
    const elsewhere = { host: hostname(), bootId: undefined, pidNamespace: undefined };
    const owner = { ...elsewhere, pid: startStranger(), startTime: startTime ?? undefined };
    const server = { ...owner, pid: 4_000_000 };
    const project = createProject();
    writeRun(project, { owner, server, isReleased: true });
    const { url, close } = await serveWithoutProc(project, ps, `writeSync(1, "ours");`);
    expect((await attach(url)).status).toBe(204);
    await close();
    expect(isRunning(owner.pid)).toBe(true);
    const next = await serveWithoutProc(project, ps, `writeSync(1, "ours");`);
    expect(await (await postTrain(next.url)).text()).toBe("ours");
  },
);

const ENDLESS = `writeFileSync("pid", String(process.pid)); writeSync(1, "first"); await gate("never");`;

test("without /proc, a killed server's run is found, and ended by the next", async () => {
  const project = createProject();
  const killed = await serveWithoutProc(project, true, ENDLESS);
  await (await postTrain(killed.url)).body?.getReader().read();
  await killed.server.kill();
  const next = await serveWithoutProc(project, true, ENDLESS);
  expect((await postTrain(next.url)).status).toBe(409);
  await next.close();
  expect(isRunning(pidIn(project, "pid"))).toBe(false);
});
