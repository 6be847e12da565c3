import { hostname } from "node:os";
import { expect, test } from "vitest";
import { openRaw, statusesIn } from "../../rawHttp.ts";
import { askRaw, startServer } from "../../uiServer.ts";

/** Sends these bytes as they are. Returns the status of the answer and its text. */
async function send(port: number, bytes: string): Promise<{ status: number; text: string }> {
  const { socket, closed } = await openRaw(port);
  socket.write(bytes, "latin1");
  const text = await closed();
  const [status = NaN] = statusesIn(text);
  return { status, text };
}

interface Sent {
  method?: string;
  target?: string;
  version?: string;
  headers?: string[];
}

function asBytes({ method = "GET", target = "/", version = "1.1", headers = [] }: Sent): string {
  const all = [...headers, "Connection: close"].map((line) => `${line}\r\n`).join("");
  return `${method} ${target} HTTP/${version}\r\n${all}\r\n`;
}

const HOST = "Host: localhost";

async function statusOf(sent: Sent, options: Parameters<typeof startServer>[0] = {}) {
  const { port } = await startServer(options);
  const { status } = await send(port, asBytes({ headers: [HOST], ...sent }));
  return status;
}

test.each([
  ["GET", 200],
  ["HEAD", 200],
  ["POST", 405],
  ["PUT", 405],
  ["DELETE", 405],
  ["PATCH", 405],
  ["OPTIONS", 405],
  ["TRACE", 405],
  ["PROPFIND", 405],
  ["QUERY", 405],
  ["get", 400],
])("method %s: %i", async (method, status) => {
  expect(await statusOf({ method })).toBe(status);
});

test.each([
  ["/", 200],
  ["/?a=b", 200],
  ["/nothing", 404],
  ["//evil", 400],
  ["//evil/..", 400],
  ["/\\evil", 400],
  ["/a#b", 400],
  ["http://evil/x", 400],
  ["http://localhost/", 400],
  ["*", 400],
  ["evil", 400],
  ["/../..", 400],
  ["/a/../../etc/passwd", 400],
  ["/./", 400],
  ["/assets/../index.html", 400],
  ["/assets\\..\\index.html", 400],
  ["/index.html%00.js", 400],
  ["/%2e%2e/", 400],
  ["/%2e%2e%2fetc", 400],
  ["/%252e%252e/", 400],
  ["/a%2fb", 400],
  ["/a%5cb", 400],
  ["/%00", 400],
  ["/\0", 400],
  ["/%0d%0aSet-Cookie:a=b", 400],
  ["/%", 400],
  ["/%zz", 400],
  ["/%ff", 400],
  ["/\x80", 400],
  ["/api/jobs/..%2f..%2fx/events", 400],
  ["/api/jobs/%2e%2e/events", 400],
  ["/api/jobs/nonsense/events", 404],
])("target %j: %i", async (target, status) => {
  expect(await statusOf({ target })).toBe(status);
});

test.each([
  [["Host: localhost"], 200],
  [["Host: localhost:4747"], 200],
  [["Host: localhost:1"], 200],
  [["Host: LOCALHOST"], 200],
  [["Host: localhost."], 200],
  [["Host: my-app.localhost:8080"], 200],
  [["Host: 127.0.0.1:4747"], 200],
  [["Host: [::1]:4747"], 200],
  [[], 400],
  [["Host: localhost", "Host: localhost"], 400],
  [["Host: localhost", "Host: evil.example"], 400],
  [["Host:"], 400],
  [["Host: local host"], 400],
  [["Host: localhost, evil.example"], 400],
  [["Host: localhost:"], 400],
  [["Host: localhost:99999999"], 400],
  [["Host: localhost:80:80"], 400],
  [["Host: user@localhost"], 400],
  [["Host: localhost/evil"], 400],
  [["Host: http://localhost"], 400],
  [["Host: [::1"], 400],
  [["Host: [localhost]"], 400],
  [["Host: ::1"], 400],
  [["Host: localhost%00"], 400],
  [["Host: -localhost"], 400],
  [[`Host: ${"a".repeat(300)}`], 400],
  [["Host: evil.example"], 403],
  [["Host: evil.example:4747"], 403],
  [["Host: localhost.evil.example"], 403],
  [["Host: evillocalhost"], 403],
  [["Host: 127.0.0.1.evil.example"], 403],
  [["Host: 2130706433"], 403],
  [["Host: 0x7f000001"], 403],
  [["Host: 127.1"], 403],
  [["Host: 127.0.0.2"], 403],
  [["Host: 0.0.0.0"], 403],
  [["Host: 192.168.1.5:4747"], 403],
  [["Host: [::ffff:127.0.0.1]"], 403],
  [["Host: [fe80::1]"], 403],
  [["Host: [::::]"], 400],
  [[`Host: ${hostname()}`], 403],
])("host %j: %i", async (headers, status) => {
  expect(await statusOf({ headers })).toBe(status);
});

test.each(["1.0", "1.1"])(
  "HTTP/%s without a host is 400, with one it is answered",
  async (version) => {
    expect(await statusOf({ version, headers: [] })).toBe(400);
    expect(await statusOf({ version })).toBe(200);
  },
);

test("a name that --allowed-host adds is let in, and no other", async () => {
  const { port } = await startServer({ allowedHosts: ["dev.example"] });
  const ask = (host: string) => send(port, asBytes({ headers: [`Host: ${host}`] }));
  expect((await ask("dev.example:8443")).status).toBe(200);
  expect((await ask("DEV.example.")).status).toBe(200);
  expect((await ask("a.dev.example")).status).toBe(403);
});

test("on an address that others reach, addresses and this machine's name are let in too", async () => {
  const { port } = await startServer({ host: "0.0.0.0" });
  const ask = (host: string) => send(port, asBytes({ headers: [`Host: ${host}`] }));
  expect((await ask("192.168.1.5:4747")).status).toBe(200);
  expect((await ask("[fe80::1]")).status).toBe(200);
  expect((await ask(hostname())).status).toBe(200);
  expect((await ask("evil.example")).status).toBe(403);
});

test("a refused host name comes with the option that allows it", async () => {
  const { port } = await startServer();
  const { text } = await send(port, asBytes({ headers: ["Host: dev.example"] }));
  expect(text).toContain("kit ui --allowed-host dev.example");
});

const BROWSER = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

test("a refused host name is a page for a browser that navigates, and JSON for any other client", async () => {
  const { port } = await startServer();
  const ask = (headers: string[], target = "/") =>
    send(port, asBytes({ target, headers: ["Host: dev.example", ...headers] }));
  for (const target of ["/", "/api/jobs"]) {
    const { status, text } = await ask([BROWSER], target);
    expect(status).toBe(403);
    expect(text).toMatch(/^Content-Type: text\/html; charset=utf-8\r$/m);
    expect(text).toMatch(/^Content-Security-Policy: default-src 'self';/m);
    expect(text).toContain(
      "<p>The host name dev.example is not allowed. If it is yours, start the server with: kit ui --allowed-host dev.example</p>",
    );
  }
  for (const accept of [[], ["Accept: */*"], ["Accept: application/json"]]) {
    const { status, text } = await ask(accept);
    expect(status).toBe(403);
    expect(text).toMatch(/^Content-Type: application\/json; charset=utf-8\r$/m);
  }
});

test("nothing of a request becomes an element of such a page", async () => {
  const { port } = await startServer();
  const sent: Sent[] = [
    { headers: ["Host: <b>.example", BROWSER] },
    { headers: ["Host: a.example", "Origin: <b>", BROWSER], target: "/a?<b>" },
    { headers: [HOST, "Origin: http://<b>", BROWSER] },
    { headers: [HOST, BROWSER], method: "<b>" },
  ];
  for (const each of sent) {
    const { status, text } = await send(port, asBytes(each));
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).not.toContain("<b>");
  }
});

/** Absent where undefined; browsers send only the first five of each. */
const SITES = ["same-origin", "none", "same-site", "cross-site", undefined];
const ODD_SITES = ["nonsense", "", "Same-Origin", "same-origin, cross-site", "null"];
const MODES = ["navigate", "cors", "no-cors", "same-origin", "websocket", "nonsense", undefined];
const DESTS = ["document", "iframe", "frame", "embed", "object", "image", "empty", undefined];
const USERS = ["?1", "?0", undefined];
const TARGETS = [
  ["GET", "/"],
  ["GET", "/?from=mail"],
  ["GET", "/api/jobs"],
  ["POST", "/"],
] as const;

test.each([...SITES, ...ODD_SITES].flatMap((site) => MODES.map((mode) => [site, mode] as const)))(
  "Sec-Fetch-Site %s with mode %s, whatever the destination and the user's part",
  async (site, mode) => {
    const { port } = await startServer();
    const isOurs = site === undefined || site === "same-origin" || site === "none";
    for (const [n, dest] of DESTS.entries()) {
      // Each part of the user comes with each target and each destination's kind.
      for (const [m, [method, target]] of TARGETS.entries()) {
        const sent = { site, mode, dest, user: USERS[(n + m) % USERS.length] };
        const headers = Object.entries(sent).flatMap(([name, value]) =>
          value === undefined ? [] : [[`sec-fetch-${name}`, value] as const],
        );
        const { status } = await askRaw(port, target, method, Object.fromEntries(headers));
        const isLink = target.startsWith("/?") || target === "/";
        const isLet =
          isOurs || (isLink && method === "GET" && mode === "navigate" && dest === "document");
        const ok = method === "POST" ? 405 : 200;
        expect([target, sent, status]).toEqual([target, sent, isLet ? ok : 403]);
      }
    }
  },
);

test.each([
  [[HOST], 200],
  [["Host: localhost:4747", "Origin: http://localhost:4747"], 200],
  [["Host: localhost:9999", "Origin: http://localhost:9999"], 200],
  [["Host: localhost:9999", "Origin: https://localhost:9999"], 200],
  [["Host: LOCALHOST:9999", "Origin: http://localhost:9999"], 200],
  [[HOST, "Origin: null"], 403],
  [[HOST, "Origin: http://evil.example"], 403],
  [["Host: localhost:4747", "Origin: http://localhost:3000"], 403],
  [["Host: localhost:4747", "Origin: http://localhost"], 403],
  [["Host: localhost:4747", "Origin: http://127.0.0.1:4747"], 403],
  [["Host: localhost:4747", "Origin: http://localhost:4747.evil.example"], 403],
  [["Host: localhost:4747", "Origin: http://localhost:47470"], 403],
  [["Host: localhost:4747", "Origin: http://localhost:474"], 403],
  [["Host: localhost:4747", "Origin: http://localhost:4747/"], 403],
  [["Host: localhost:4747", "Origin: http://localhost:4747@evil.example"], 403],
  [["Host: localhost:4747", "Origin: http://localhost:4747, http://evil.example"], 403],
  [["Host: localhost:4747", "Origin: http://evil-localhost:4747"], 403],
  [["Host: localhost:4747", "Origin: http://localhost.:4747"], 403],
  [["Host: app.localhost:4747", "Origin: http://localhost:4747"], 403],
  [[HOST, "Origin: "], 403],
  [[HOST, "Origin: chrome-extension://localhost"], 403],
])("origin without Sec-Fetch-Site %j: %i", async (headers, status) => {
  const { port } = await startServer();
  expect((await send(port, asBytes({ target: "/api/jobs", headers }))).status).toBe(status);
  const started = await send(port, asBytes({ method: "POST", target: "/api/train", headers }));
  // The project is empty, so that a run that is let in ends by itself.
  expect(started.status).toBe(status);
});
