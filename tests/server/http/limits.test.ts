import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { takeLock } from "../../../disk/lock.ts";
import { LIMITS } from "../../../server/http/limits.ts";
import { COMPLETED, STARTED, createJob } from "../../jobs.ts";
import { createProject } from "../../project.ts";
import { asBytes, askAlone, openRaw, statusesIn } from "../../rawHttp.ts";
import { openGate, readBody, standIn, startServer } from "../../uiServer.ts";

/** A run that prints much at once and goes on until a gate is opened. */
const LOUD = `writeSync(1, "x".repeat(20_000_000) + "\\n"); await gate("end");`;
/** A run that prints nothing until a gate is opened. */
const QUIET = `await gate("end"); writeSync(1, "done");`;

/** A server with a run that another has launched: a launch may take longer than such limits. */
async function startWithRun(code: string, limits: Partial<typeof LIMITS>) {
  const project = createProject();
  const { url } = await startServer({ project, kit: standIn(project, code) });
  await (await fetch(`${url}api/train`, { method: "POST" })).body?.cancel();
  return startServer({ project, limits });
}

/** A server with one job that goes on. */
async function startWithJob(limits: Partial<typeof LIMITS> = {}) {
  const project = createProject();
  const job = createJob(project, "job", [STARTED]);
  const server = await startServer({ project, limits });
  return { ...server, job, events: `api/jobs/${job.job.id}/events` };
}

test("a head that is too long is 431 with the next step", async () => {
  const { port } = await startServer();
  const most = `Cookie: ${"a".repeat(LIMITS.headerBytes - 200)}`;
  expect(statusesIn(await askAlone(port, "/", [most]))).toEqual([200]);
  const answer = await askAlone(port, "/", [`Cookie: ${"a".repeat(LIMITS.headerBytes)}`]);
  expect(statusesIn(answer)).toEqual([431]);
  expect(answer).toContain("delete its cookies");
});

test("every header is checked, however many there are", async () => {
  const { port } = await startServer();
  const many = Array.from({ length: 3_000 }, (_, n) => `a${n}:`);
  const answer = await askAlone(port, "/", [...many, "Sec-Fetch-Site: cross-site"]);
  expect(statusesIn(answer)).toEqual([403]);
});

test.each([
  ["a long body", `Content-Length: ${20_000_000}`],
  ["a body of undeclared length", "Transfer-Encoding: chunked"],
])("%s is 413, and the client that sends all of it sees the answer", async (_, header) => {
  const { port } = await startServer();
  const { socket, until } = await openRaw(port);
  socket.write(asBytes("/api/train", [header], "POST"));
  const size = 20_000_000;
  const isChunked = header.startsWith("Transfer");
  if (isChunked) socket.write(`${size.toString(16)}\r\n`);
  socket.write(Buffer.alloc(size, "x"));
  if (isChunked) socket.write("\r\n0\r\n\r\n");
  expect(await until(/\r\n\r\n\{.*\}/)).toContain("Send no body");
  // The connection is none the worse for it.
  socket.write(asBytes("/nothing"));
  expect(statusesIn(await until(/ 404 /))).toEqual([413, 404]);
});

test("a client that expects 100-continue is answered without its body", async () => {
  const { port } = await startServer();
  const long = [`Content-Length: ${10_000_000}`, "Expect: 100-continue"];
  expect(statusesIn(await askAlone(port, "/api/train", long, "POST"))).toEqual([413]);
  expect(statusesIn(await askAlone(port, "/", ["Expect: everything"]))).toEqual([200]);
});

test.each([
  ["says nothing", ""],
  ["does not finish its request's head", "GET / HTTP/1.1\r\nHost: loc"],
])("a client that %s gets a 408", async (_, bytes) => {
  const { port } = await startServer({ limits: { headersMs: 100, checkMs: 20 } });
  const { socket, closed } = await openRaw(port);
  socket.write(bytes);
  const answer = await closed();
  expect(statusesIn(answer)).toEqual([408]);
  expect(answer).toContain("took too long to arrive");
});

test("a client that does not finish its body is cut off", async () => {
  const { port } = await startServer({
    limits: { headersMs: 1_000, requestMs: 1_500, checkMs: 20 },
  });
  const { socket, closed } = await openRaw(port);
  socket.write(`${asBytes("/", ["Content-Length: 10"])}12345`);
  expect(statusesIn(await closed())[0]).toBe(200);
});

test("a connection that is not used any more is closed", async () => {
  const { port } = await startServer({ limits: { idleMs: 50 } });
  const { socket, closed } = await openRaw(port);
  socket.write(asBytes("/"));
  expect(statusesIn(await closed())).toEqual([200]);
});

test("a client that stops reading makes room for another", async () => {
  const { port, url } = await startWithRun(LOUD, { streams: 1, stalledMs: 1_000 });
  const { socket, until } = await openRaw(port);
  socket.write(asBytes("/api/train"));
  await until(/ 200 /);
  socket.pause();
  const other = async () => {
    const response = await fetch(`${url}api/train`);
    await response.body?.cancel();
    return response.status;
  };
  expect(await other()).toBe(429);
  await expect.poll(other).toBe(200);
});

test("a run that prints nothing for long keeps its readers", async () => {
  const { project, url } = await startWithRun(QUIET, { stalledMs: 500, idleMs: 500 });
  const body = readBody(await fetch(`${url}api/train`));
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  openGate(project, "end");
  expect(String(await body.all())).toBe("done");
});

test("one stream too many is 429 with the next step, and admitted when another has ended", async () => {
  const { port, url, events } = await startWithJob({ streams: 2 });
  const [first] = await Promise.all([fetch(`${url}${events}`), fetch(`${url}${events}`)]);
  const answer = await askAlone(port, `/${events}`);
  expect(statusesIn(answer)).toEqual([429]);
  expect(answer).toMatch(/^Retry-After: 5\r$/m);
  expect(answer).toContain("2 streams are in use, the maximum. Close some tabs");
  // Others are answered all the same.
  expect((await fetch(`${url}api/jobs`)).status).toBe(200);
  await first?.body?.cancel();
  const again = () => fetch(`${url}${events}`).then(({ status }) => status);
  await expect.poll(again).toBe(200);
});

test("a client that leaves before the answer begins takes no stream's place", async () => {
  const project = createProject();
  const kit = standIn(project, `writeSync(1, "ours"); await gate("end");`);
  const { url, port } = await startServer({ project, kit, limits: { streams: 2 } });
  mkdirSync(join(project, ".kit", "run"), { recursive: true });
  const lock = await takeLock(join(project, ".kit", "run", "launch.lock"), 0);
  const started = fetch(`${url}api/train`, { method: "POST" });
  // By the time the server answers another, it has seen what came before.
  const settled = () => fetch(`${url}api/jobs`);
  await settled();
  // Asks while the run is being launched, and has to wait for that.
  const { socket } = await openRaw(port);
  await new Promise((resolve) => socket.write(asBytes("/api/train"), resolve));
  await settled();
  socket.destroy();
  await settled();
  lock?.release();
  const first = readBody(await started);
  await first.until((text) => text === "ours");
  const second = await fetch(`${url}api/train`);
  expect(second.status).toBe(200);
  await second.body?.cancel();
  openGate(project, "end");
  await first.all();
});

test("a run that could not be shown is not started", async () => {
  const project = createProject();
  const job = createJob(project);
  const kit = standIn(project, `writeFileSync("started", "");`);
  const { url } = await startServer({ project, kit, limits: { streams: 1 } });
  await fetch(`${url}api/jobs/${job.job.id}/events`);
  expect((await fetch(`${url}api/train`, { method: "POST" })).status).toBe(429);
  expect(existsSync(join(project, "started"))).toBe(false);
});

test("500 clients can follow one job", async () => {
  const { port, events, job } = await startWithJob();
  const clients = await Promise.all(Array.from({ length: 500 }, () => openRaw(port)));
  for (const { socket } of clients) socket.write(asBytes(`/${events}`));
  await Promise.all(clients.map(({ until }) => until(/training\.started/)));
  expect(statusesIn(await askAlone(port, "/api/jobs"))).toEqual([200]);
  job.append(COMPLETED);
  await Promise.all(clients.map(({ until }) => until(/event: end\n/)));
});

test("one connection too many is 429, more than that are closed, and closing one makes room", async () => {
  const { port } = await startServer({ limits: { connections: 2 } });
  const [first] = [await openRaw(port), await openRaw(port)];
  const answer = await askAlone(port, "/");
  expect(statusesIn(answer)).toEqual([429]);
  expect(answer).toContain("2 connections are open.");
  const told = await Promise.all(Array.from({ length: 100 }, () => openRaw(port)));
  const { socket, closed } = await openRaw(port);
  socket.write(asBytes("/"));
  expect(await closed()).toBe("");
  for (const { socket: one } of [first, ...told]) one.destroy();
  await expect.poll(async () => statusesIn(await askAlone(port, "/"))).toEqual([200]);
});

test("slow connections without the token keep out no client that has it", async () => {
  const token = "correct horse";
  const limits = { connections: 8, unauthenticated: 4 };
  const project = createProject();
  const job = createJob(project, "job", [STARTED]);
  const { port } = await startServer({ project, token, limits });
  const flood = async () => {
    // More than get a 429.
    const all = await Promise.all(Array.from({ length: 120 }, () => openRaw(port)));
    for (const { socket } of all) socket.write("GET / HTTP/1.1\r\nHost: loc");
  };
  await flood();
  const link = await askAlone(port, `/?token=${encodeURIComponent(token)}`);
  expect(statusesIn(link)).toEqual([303]);
  const [, cookie = ""] = /^Set-Cookie: ([^;]+)/m.exec(link) ?? [];
  const { socket, until } = await openRaw(port);
  socket.write(asBytes(`/api/jobs/${job.job.id}/events`, [`Cookie: ${cookie}`]));
  await until(/training\.started/);
  await flood();
  // The stream with the token goes on, and another one with it is admitted.
  expect(statusesIn(await askAlone(port, "/api/jobs", [`Cookie: ${cookie}`]))).toEqual([200]);
  job.append(COMPLETED);
  await until(/event: end\n/);
});
