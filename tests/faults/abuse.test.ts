import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { startKitUi } from "../e2e/kitUi.ts";
import { openRaw, statusesIn } from "../rawHttp.ts";
import { readBody } from "../uiServer.ts";
import { classesOf, createAbuse, expectNoLeak, growthInWords } from "./abuseLoad.ts";
import { compareSteps, createRunProject, endless, startRun, stepsIn } from "./endlessRun.ts";
import { createMemoryProbe } from "./memoryProbe.ts";
import { createRandom } from "./random.ts";
import { type RequestCounts, createVisitor } from "./requests.ts";
import { repeated } from "./table.ts";

const REQUESTS = repeated(20_000);
/** The first requests bring the process to its working size. */
const WARM_UP = REQUESTS / 4;
/** Clients that send a byte now and then until they are cut. */
const SLOW_CLIENTS = 20;
const BYTE_MS = 300;

/** Sends a request's head a byte at a time. Resolves with the answer when it is cut off. */
async function sendSlowly(port: number): Promise<string> {
  const { socket, closed } = await openRaw(port);
  const endless = setInterval(() => socket.write("a"), BYTE_MS);
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nA: ");
  const text = await closed();
  clearInterval(endless);
  return text;
}

test("thousands of malformed, slow, huge, pipelined and aborted requests do no harm to kit ui or its run", async () => {
  const random = createRandom();
  const project = createRunProject(endless());
  const probe = createMemoryProbe();
  const ui = await startKitUi(project, 0, { env: probe.env });
  const output = readBody(await startRun(ui.url));
  await output.until((text) => text.includes("step "));
  const [job] = createJobStore(project).list();
  const counts: RequestCounts = { requests: SLOW_CLIENTS, byClass: {}, aborted: 0 };
  const visit = createVisitor(ui.port, job?.id ?? "", random);
  const abuse = createAbuse({ counts, visit, probe, pid: ui.process.pid });

  const slow = Promise.all(Array.from({ length: SLOW_CLIENTS }, () => sendSlowly(ui.port)));
  await abuse.until(WARM_UP);
  const before = await abuse.settle();
  await abuse.until(REQUESTS);
  const slowStatuses = (await slow).map(statusesIn);
  const after = await abuse.settleTo(before);
  counts.byClass["4xx"] = (counts.byClass["4xx"] ?? 0) + slowStatuses.flat().length;

  // The run goes on, and its steady reader has seen all of it.
  const steps = stepsIn(await output.until(() => true)).length;
  const seen = await output.until((text) => stepsIn(text).length >= steps + 20);
  const printed = readFileSync(join(project, ".kit", "run", "output.log"), "utf8");
  expect(printed.startsWith(seen)).toBe(true);
  expect(compareSteps(stepsIn(seen))).toEqual({ lost: 0, doubled: 0 });
  expect(createJobStore(project).list()).toMatchObject([{ id: job?.id, status: "running" }]);

  const crashes = ui.process.exitCode === null ? 0 : 1;
  ui.process.kill("SIGTERM");
  await once(ui.process, "close");
  const { stderr } = await ui.ended;
  const { requests, byClass, aborted } = counts;
  console.log(
    `abuse: ${requests} requests, ${classesOf(counts)}, ${aborted} aborted or cut off, ` +
      `${byClass["5xx"] ?? 0} 5xx, ${crashes} crashes; ` +
      `${growthInWords(before, after)}; the run logged ${stepsIn(seen).length} times meanwhile`,
  );
  expect({ crashes, stderr, serverErrors: byClass["5xx"] ?? 0 }).toEqual({
    crashes: 0,
    stderr: "",
    serverErrors: 0,
  });
  expect(slowStatuses).toEqual(slowStatuses.map(() => [408]));
  expect(createJobStore(project).list()).toMatchObject([{ id: job?.id, status: "cancelled" }]);
  expectNoLeak(before, after);
});
