import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type RunLease, readRun } from "../../../jobs/runLease.ts";
import { OWNER_GONE } from "../../../jobs/status.ts";
import { RUN_ERROR_HEADER, RUN_STATUS_HEADER } from "../../../protocol/http.ts";
import { ENDLESS, createTinyProject, tinySource } from "../../kit.ts";
import { type BodyReader, readBody, startServer } from "../../uiServer.ts";
import { attach, pidIn, postTrain, recordPath, startWith } from "../standInRun.ts";

const ENDLESS_SOURCE = tinySource({ options: ENDLESS });
const LOADING = tinySource({
  before: `import { writeFileSync } from "node:fs";
    writeFileSync("pid", String(process.pid));
    console.log("loading");
    await new Promise((go) => setTimeout(go, 60_000));`,
});

/** How the last run ended, by another server than the one that launched it. */
async function endOf(project: string): Promise<string | null> {
  const { url } = await startServer({ project });
  const answer = await attach(url);
  await answer.text();
  return answer.headers.get(RUN_STATUS_HEADER);
}

const step = (body: BodyReader) => body.until((text) => /step +\d+\//.test(text));

test.each([
  ["completed", "whose job has completed", tinySource()],
  [
    "failed",
    "whose job has failed",
    tinySource({ options: "callbacks: { onLog() { throw 1; } }," }),
  ],
  ["failed", "whose code does not build", "export default {"],
  ["failed", "that has no trainer", "export default 1;"],
  ["failed", "whose code ends its process", "process.exit(0);"],
  [
    "completed",
    "whose job has completed and whose code changes the exit code",
    tinySource({ before: `process.on("exit", () => { process.exitCode = 3; });` }),
  ],
  [
    "failed",
    "whose job fails because a callback ends the process, whatever the code",
    tinySource({ options: "callbacks: { onLog: () => process.exit(130) }," }),
  ],
])("a run is %s %s, also for the next server", async (status, _, source) => {
  const project = createTinyProject(source);
  const { url } = await startServer({ project });
  await (await postTrain(url)).text();
  const answer = await attach(url);
  await answer.text();
  expect(answer.headers.get(RUN_STATUS_HEADER)).toBe(status);
  expect(await endOf(project)).toBe(status);
});

test("a run that was killed has failed", async () => {
  const project = createTinyProject(LOADING);
  const { url } = await startServer({ project });
  const body = readBody(await postTrain(url));
  await body.until((text) => text.includes("loading"));
  process.kill(pidIn(project, "pid"), "SIGKILL");
  await body.all();
  expect(await endOf(project)).toBe("failed");
});

test("a run whose process was killed says why its job failed, as the job's page does", async () => {
  const project = createTinyProject(ENDLESS_SOURCE);
  const { url } = await startServer({ project });
  const body = readBody(await postTrain(url));
  await step(body);
  process.kill(readRun(project)?.owner.pid ?? 0, "SIGKILL");
  await body.all();
  const { headers } = await attach(url);
  expect(headers.get(RUN_STATUS_HEADER)).toBe("failed");
  expect(decodeURIComponent(headers.get(RUN_ERROR_HEADER) ?? "")).toBe(OWNER_GONE);
});

test.each([
  ["before it has a job", LOADING, (body: BodyReader) => body.until((text) => text.length > 0)],
  ["with its job", ENDLESS_SOURCE, step],
])("a run that ends with its server %s is cancelled", async (_, source, until) => {
  const project = createTinyProject(source);
  const { url, close } = await startServer({ project });
  await until(readBody(await postTrain(url)));
  await close();
  expect(await endOf(project)).toBe("cancelled");
});

test("a run that ignores SIGTERM and is killed by its server is cancelled", async () => {
  const { train, close, project } = await startWith(
    `process.on("SIGTERM", () => undefined); writeSync(1, "deaf"); await gate("never");`,
    { graceMs: 10 },
  );
  const body = readBody(await train());
  await body.until((text) => text === "deaf");
  await close();
  expect(await endOf(project)).toBe("cancelled");
});

test("a run that has not recorded its end has failed", async () => {
  const project = createTinyProject();
  const { url } = await startServer({ project });
  await (await postTrain(url)).text();
  const path = recordPath(project);
  const { status, ...run } = JSON.parse(readFileSync(path, "utf8")) as RunLease;
  expect(status).toBe("completed");
  writeFileSync(path, JSON.stringify(run));
  expect(await endOf(project)).toBe("failed");
});
