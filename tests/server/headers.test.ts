import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createJob } from "../jobs.ts";
import { createProject } from "../project.ts";
import { asBytes, askAlone, openRaw, statusesIn } from "../rawHttp.ts";
import { type TestServer, standIn, startServer } from "../uiServer.ts";

let answers = 0;
afterAll(() => console.log(`headers: ${answers} answers checked`));

/** Every answer has these headers, and none that grants access to others. */
function expectSecure(answer: string, ...statuses: number[]): void {
  answers += statuses.length;
  expect(statusesIn(answer)).toEqual(statuses);
  for (const line of [
    /^Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'\r$/gm,
    /^X-Content-Type-Options: nosniff\r$/gm,
    /^Referrer-Policy: no-referrer\r$/gm,
    /^Cross-Origin-Resource-Policy: same-origin\r$/gm,
  ]) {
    expect(answer.match(line) ?? []).toHaveLength(statuses.length);
  }
  expect(answer).not.toMatch(/^(Access-Control-|X-Powered-By|Server:)/im);
}

type Ask = (server: TestServer) => Promise<string>;
const ask =
  (...request: [target: string, headers?: string[], method?: string]): Ask =>
  ({ port }) =>
    askAlone(port, ...request);

/** Bytes as they are, and all that comes until the connection is closed. */
const send =
  (bytes: string | Buffer): Ask =>
  async ({ port }) => {
    const { socket, closed } = await openRaw(port);
    socket.write(bytes);
    return closed();
  };

/** A stand-in for the command: its run and its manifest fail at once. */
const KIT = `if (process.argv[2] === "manifest") process.send({ error: "no" });`;

test.each<[name: string, status: number, ask: Ask]>([
  ["the page", 200, ask("/")],
  ["the page's head", 200, ask("/", [], "HEAD")],
  ["a script", 200, ask("/assets/app-1a2b.js")],
  ["a style's head", 200, ask("/assets/app-1a2b.css", [], "HEAD")],
  ["a part of a script", 200, ask("/assets/app-1a2b.js", ["Range: bytes=0-3"])],
  ["the jobs", 200, ask("/api/jobs")],
  ["a run", 200, ask("/api/train", [], "POST")],
  ["no run", 204, ask("/api/train")],
  ["no trainer", 422, ask("/api/manifest")],
  ["no such page", 404, ask("/nothing")],
  ["no such job", 404, ask("/api/jobs/20260101-000000-000-aaaa/events")],
  ["a job of a strange name", 404, ask("/api/jobs/__proto__/events")],
  ["another method", 405, ask("/", [], "DELETE")],
  ["a route's other method", 405, ask("/api/jobs", [], "POST")],
  ["a route's head", 405, ask("/api/jobs", [], "HEAD")],
  ["a tunnel", 405, send("CONNECT evil:80 HTTP/1.1\r\nHost: evil:80\r\n\r\n")],
  ["another protocol", 200, ask("/", ["Upgrade: websocket", "Connection: Upgrade"])],
  ["a malformed target", 400, ask("//evil")],
  ["no host", 400, send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n")],
  ["another site", 403, ask("/api/jobs", ["Sec-Fetch-Site: cross-site"])],
  ["a long body", 413, ask("/api/train", ["Content-Length: 9999999"], "POST")],
  ["a body announced", 413, ask("/", ["Content-Length: 9999999", "Expect: 100-continue"])],
  ["an expectation", 200, ask("/", ["Expect: everything"])],
  ["a long head", 431, ask("/", [`Cookie: ${"a".repeat(40_000)}`])],
  ["a long target", 431, ask(`/${"a".repeat(40_000)}`)],
  ["a long Last-Event-ID", 431, ask("/api/jobs", [`Last-Event-ID: ${"1".repeat(1_000_000)}`])],
  ["no HTTP", 400, send("hello\r\n\r\n")],
  ["another version", 400, send("GET / HTTP/9.9\r\nHost: localhost\r\n\r\n")],
  ["TLS", 400, send(Buffer.from("160301020001000005010303", "hex"))],
  ["two lengths", 400, ask("/", ["Content-Length: 1", "Content-Length: 2"])],
  ["a length and chunks", 400, ask("/", ["Content-Length: 1", "Transfer-Encoding: chunked"])],
  ["a header without a name", 400, ask("/", [": x"])],
  ["a folded header", 400, ask("/", ["A: b", " c"])],
])("the answer to %s (%i) has the security headers", async (_, status, askIt) => {
  const project = createProject();
  const server = await startServer({ project, kit: standIn(project, KIT) });
  expectSecure(await askIt(server), status);
});

test("an event stream, its end, and its refusals have them", async () => {
  const project = createProject();
  const { job, append } = createJob(project);
  append({ event: "training.failed", data: { error: "x" } });
  const server = await startServer({ project });
  const events = `/api/jobs/${job.id}/events`;
  const stream = await ask(events)(server);
  expectSecure(stream, 200);
  const id = /^id: (\d+)\nevent: end/m.exec(stream)?.[1] ?? "";
  expectSecure(await ask(events, [`Last-Event-ID: ${id}`])(server), 204);
  expectSecure(await ask(events, [], "POST")(server), 405);
});

test("a list that has not changed has them", async () => {
  const server = await startServer();
  const etag = /^ETag: (.*)\r$/m.exec(await ask("/api/jobs")(server))?.[1] ?? "";
  expectSecure(await ask("/api/jobs", [`If-None-Match: ${etag}`])(server), 304);
});

test("a run in flight, and one that cannot be started, have them", async () => {
  const project = createProject();
  const kit = standIn(project, `writeSync(1, "on"); await gate("never");`);
  const server = await startServer({ project, kit });
  const { socket, until } = await openRaw(server.port);
  socket.write(asBytes("/api/train", [], "POST"));
  expectSecure(await until(/\non/), 200);
  expectSecure(await ask("/api/train", [], "POST")(server), 409);

  const broken = await startServer({ kit: ["/nowhere/to/be/found"] });
  mkdirSync(join(broken.project, "x"));
  expectSecure(await ask("/api/train", [], "POST")(broken), 500);
});

test("a late request, and one stream or connection too many, have them", async () => {
  const slow = await startServer({ limits: { headersMs: 50, checkMs: 10 } });
  expectSecure(await send("GET / HTT")(slow), 408);
  const full = await startServer({ limits: { streams: 0 } });
  const { job } = createJob(full.project);
  expectSecure(await ask(`/api/jobs/${job.id}/events`)(full), 429);
  expectSecure(await ask("/")(await startServer({ limits: { connections: 0 } })), 429);
});

test("the way in by token has them", async () => {
  const server = await startServer({ token: "secret" });
  expectSecure(await ask("/")(server), 401);
  expectSecure(await ask("/api/jobs")(server), 401);
  expectSecure(await ask("/assets/app-1a2b.js", [], "HEAD")(server), 401);
  expectSecure(await ask("/?token=secret")(server), 303);
  expectSecure(await ask("/?token=secret", ["Sec-Fetch-Site: cross-site"])(server), 403);
});

test("an error in an answer that has begun only cuts it off", async () => {
  const project = createProject();
  const { job } = createJob(project);
  const { port } = await startServer({ project });
  const { socket, until, closed } = await openRaw(port);
  socket.write(asBytes(`/api/jobs/${job.id}/events`));
  await until(/retry/);
  socket.write("no request\r\n\r\n");
  expectSecure(await closed(), 200);
});

test("each pipelined answer has them, and nonsense after requests gets none of its own", async () => {
  const server = await startServer();
  const all = ["/", "/nothing", "//evil"].map((target) => asBytes(target)).join("");
  expectSecure(
    await send(`${all}${asBytes("/", ["Connection: close"])}`)(server),
    200,
    404,
    400,
    200,
  );
  expectSecure(await send(`${all}nonsense\r\n\r\n`)(server), 200);
});
