import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROUTES, RUN_HEADER, RUN_START_HEADER, RUN_STATUS_HEADER } from "../../protocol/http.ts";
import { openGate, readBody, standIn, startServer } from "../uiServer.ts";
import { attach, postTrain, startWith } from "./standInRun.ts";

test("before the first run there is nothing to attach to", async () => {
  const { url } = await startWith("");
  const none = await attach(url);
  expect(none.status).toBe(204);
  expect(await none.text()).toBe("");
});

test("the last run's output is there until the next run, also for a server that comes later", async () => {
  const { project, train, url, close } = await startWith(
    `writeSync(1, "first"); await gate("go");`,
  );
  const first = await train();
  const run = first.headers.get(RUN_HEADER);
  expect(first.headers.get(RUN_STATUS_HEADER)).toBe("running");
  const start = first.headers.get(RUN_START_HEADER) ?? "";
  expect(new Date(start).toISOString()).toBe(start);
  openGate(project, "go");
  await first.text();
  const after = await attach(url);
  expect(after.headers.get(RUN_HEADER)).toBe(run);
  expect(await after.text()).toBe("first");
  await close();
  const kit = standIn(project, `writeSync(1, "second");`);
  const next = await startServer({ project, kit });
  expect(await (await attach(next.url)).text()).toBe("first");
  await (await postTrain(next.url)).text();
  expect(await (await attach(next.url)).text()).toBe("second");
});

test("a run whose output was removed is not shown", async () => {
  const { project, train, url } = await startWith("");
  await (await train()).text();
  rmSync(join(project, ".kit", "run", "output.log"));
  expect((await attach(url)).status).toBe(204);
});

test("a client that goes away does not stop the run, and another sees it from the first byte", async () => {
  const { project, train, url } = await startWith(
    `writeSync(1, "first "); await gate("go"); writeSync(1, "second"); await gate("end");`,
  );
  const tab = readBody(await train());
  await tab.until((text) => text === "first ");
  await tab.cancel();
  openGate(project, "go");
  const other = readBody(await attach(url));
  expect(await other.until((text) => text.endsWith("second"))).toBe("first second");
  openGate(project, "end");
  expect(String(await other.all())).toBe("first second");
});

test("a client that names its run and position gets the rest, also after the run has ended", async () => {
  const { project, train, url } = await startWith(
    `writeSync(1, "é first "); await gate("go"); writeSync(1, "second");`,
  );
  const response = await train();
  const run = response.headers.get(RUN_HEADER) ?? "";
  const tab = readBody(response);
  const seen = await tab.until((text) => text.endsWith("first "));
  await tab.cancel();
  const rest = (from: number) => fetch(`${url}${ROUTES.restOfTrain(run, from)}`);
  const live = await rest(Buffer.byteLength(seen));
  expect(live.headers.get(RUN_HEADER)).toBe(run);
  openGate(project, "go");
  expect(await live.text()).toBe("second");
  expect(await (await rest(Buffer.byteLength(seen))).text()).toBe("second");
  expect(await (await rest(0)).text()).toBe("é first second");
  expect(await (await rest(10_000)).text()).toBe("");
  const unsaid = await fetch(`${url}${ROUTES.train}?run=${run}`);
  expect(await unsaid.text()).toBe("é first second");
  // A server that comes later knows the last run as well.
  const next = await startServer({ project, kit: standIn(project, "") });
  const later = await fetch(`${next.url}${ROUTES.restOfTrain(run, 3)}`);
  expect(await later.text()).toBe("first second");
});

test("a client that names an earlier run gets the last one from its first byte, in flight or not", async () => {
  const { project, train, url } = await startWith(`writeSync(1, "out"); await gate("go");`);
  const rest = () => fetch(`${url}${ROUTES.restOfTrain(run, 2)}`);
  let run = "another";
  expect((await rest()).status).toBe(204);
  const first = await train();
  const body = readBody(await rest());
  expect(await body.until((text) => text.length > 0)).toBe("out");
  openGate(project, "go");
  await first.text();
  expect(await (await rest()).text()).toBe("out");
  run = "";
  expect(await (await rest()).text()).toBe("out");
});
