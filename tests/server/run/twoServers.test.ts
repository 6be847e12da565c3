import { expect, test } from "vitest";
import { readRun } from "../../../jobs/runLease.ts";
import { ROUTES, RUN_HEADER, RUN_STATUS_HEADER } from "../../../protocol/http.ts";
import { createRunner } from "../../../server/run/runner.ts";
import { CLI } from "../../kit.ts";
import { spawnProcess } from "../../process.ts";
import { createProject } from "../../project.ts";
import { standIn } from "../../uiServer.ts";
import { postTrain, startWith } from "../standInRun.ts";

const SERVER = `
  const { startUiServer } = await import(process.argv[1]);
  const [hours, project, page, ...kit] = process.argv.slice(2);
  const Time = Date;
  globalThis.Date = class extends Time {
    constructor(...time) {
      super(...(time.length > 0 ? time : [Time.now() + hours * 3_600_000]));
    }
  };
  const { port } = await startUiServer({ project, page, kit, host: "127.0.0.1", port: 0 });
  console.log(port);`;

/** A server in a pid namespace of its own, as in a container. @param hours how far its clock is off */
async function serveInContainer(project: string, kit: string[], hours = 0): Promise<string> {
  const page = createProject({ "index.html": "" });
  const dist = new URL("../../../dist/server/server.js", import.meta.url).href;
  const module = [process.execPath, "--input-type=module", "-e", SERVER, dist];
  const namespace = ["--pid", "--fork", "--kill-child", "--mount-proc"];
  const server = spawnProcess("unshare", [
    ...namespace,
    ...module,
    String(hours),
    project,
    page,
    ...kit,
  ]);
  return `http://127.0.0.1:${await server.line()}/`;
}

test.each([0, -1, 1])(
  "of two servers in containers whose clocks are %s h apart one has a run, also while that still loads",
  async (hours) => {
    const project = createProject({
      "src/kit/index.ts": "await new Promise((go) => setTimeout(go, 60_000));",
    });
    const kit = [process.execPath, CLI];
    const one = await serveInContainer(project, kit, hours);
    const other = await serveInContainer(project, kit);
    expect((await postTrain(one)).status).toBe(200);
    expect((await postTrain(other)).status).toBe(409);
    const renewal = () => readRun(project)?.renewal ?? 0;
    await expect.poll(renewal).toBeGreaterThan(0);
    const { headers, body } = await fetch(`${other}api/train`);
    await body?.cancel();
    expect(headers.get(RUN_STATUS_HEADER)).toBe("running");
    expect((await postTrain(other)).status).toBe(409);
  },
);

test("a run's output is never that of the next one", async () => {
  const project = createProject();
  const code = `const { randomUUID } = await import("node:crypto"); writeSync(1, randomUUID());`;
  const runner = createRunner({ project, kit: standIn(project, code) });
  const first = await runner.start();
  const { signal } = new AbortController();
  const output = await first.output(signal);
  while ((await output?.next())?.done === false);
  const last = await runner.last();
  await runner.start();
  expect(await last?.output(signal)).toBeUndefined();
  await runner.close();
});

test("a client that reads the last run during a launch gets all of it, or the next", async () => {
  const { train, url } = await startWith(`writeSync(1, process.pid + ".");`);
  const printed = new Map<string, string>();
  const read = async (id: string) => {
    const answer = await fetch(`${url}${ROUTES.restOfTrain(id, 0)}`);
    if (answer.status !== 200) return;
    const run = answer.headers.get(RUN_HEADER) ?? "";
    const text = await answer.text();
    expect(text).toBe(printed.get(run) ?? text);
    expect(text).not.toBe("");
  };
  let id = "";
  for (let launch = 0; launch < 5; launch++) {
    let isLaunching = true;
    const launched = train().finally(() => (isLaunching = false));
    while (isLaunching) await Promise.all([read(id), read(id), read(id)]);
    const answer = await launched;
    id = answer.headers.get(RUN_HEADER) ?? "";
    printed.set(id, await answer.text());
  }
  expect(printed.size).toBe(5);
});
