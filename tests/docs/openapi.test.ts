import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { STATUS_CODES } from "node:http";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, expect, test, vi } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import {
  END_OF_STREAM,
  OWNER_AWAY,
  OWNER_BACK,
  STREAMED_EVENTS,
  TIME,
} from "../../protocol/event.ts";
import { ROUTE_TABLE } from "../../server/routeTable.ts";
import { STARTED, createJob } from "../jobs.ts";
import { createTinyProject } from "../kit.ts";
import { PATIENCE_MS } from "../patience.ts";
import { createProject } from "../project.ts";
import { asBytes, openRaw } from "../rawHttp.ts";
import { type RawAnswer, askRaw, openGate, standIn, startServer } from "../uiServer.ts";
import {
  ANYWHERE,
  EVENTS,
  OPERATIONS,
  REFERENCE,
  expectAnswer,
  expectAnywhere,
} from "./reference.ts";

const ROOT = join(import.meta.dirname, "../..");
const TOKEN = "correct-horse";
/** How many wrong tokens may wait for their answers before the next is refused. */
const MOST_WAITING = 20;
const EVENTUALLY = { timeout: PATIENCE_MS };

/** Operations with a status that was answered, and with a query parameter that was looked at. */
const answered = new Set<string>();
const looked = new Set<string>();

const lookUp = vi.spyOn(URLSearchParams.prototype, "get");
afterAll(() => lookUp.mockRestore());

interface Asked {
  target?: string;
  headers?: Record<string, string>;
}

/** Asks a server for an operation and holds its answer against the reference. */
async function ask(
  port: number,
  operation: string,
  { target = targetOf(operation), headers }: Asked = {},
): Promise<RawAnswer> {
  lookUp.mockClear();
  const [method] = operation.split(" ");
  const answer = await askRaw(port, target, method, headers);
  expectAnswer(operation, answer);
  answered.add(`${operation} ${answer.status}`);
  for (const [name] of lookUp.mock.calls) looked.add(`${operation} ${name}`);
  return answer;
}

/** A target of the operation's path. */
function targetOf(operation: string): string {
  const [, path = ""] = operation.split(" ");
  return path
    .replace("{id}", "20260101-000000-000-aaaa")
    .replace("favicon/{file}", "favicon/none.svg")
    .replace("{file}", "app-1a2b.js");
}

/** Options of a server whose `kit` command is this script. */
function scripted(code: string) {
  const project = createProject();
  return { project, kit: standIn(project, code) };
}

test("the reference is valid OpenAPI 3.1, of this version of Kit", async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate({ ...structuredClone(REFERENCE) });
  expect(errors ?? []).toEqual([]);
  expect({ valid, version: validator.version }).toEqual({ valid: true, version: "3.1" });
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    version: string;
  };
  expect(REFERENCE.info.version).toBe(version);
});

test("the reference has the routes of the server, and the files of the page", () => {
  const api = [...OPERATIONS.keys()].filter((operation) => operation.includes(" /api/"));
  expect(api.toSorted()).toEqual(Object.keys(ROUTE_TABLE).toSorted());
  const files = readdirSync(join(ROOT, "dist/page"), { recursive: true }).map(String);
  const others = files.filter(
    (file) => !/^(index\.html|assets(\/[\w.-]+\.(js|css))?|favicon(\/\w+\.svg)?)$/.test(file),
  );
  expect(others).toEqual([]);
});

test("the events' data is what the code checks", () => {
  const { stderr } = spawnSync(process.execPath, ["scripts/openapi.mjs", "--check"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
});

test("the reference has the events of the stream", () => {
  const names = [...STREAMED_EVENTS, TIME, END_OF_STREAM, OWNER_AWAY, OWNER_BACK];
  expect(Object.keys(EVENTS).toSorted()).toEqual(names.toSorted());
});

test("the reference has the statuses that the server's source names", () => {
  const filesOf = (folder: string) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      // `kit serve` has OpenAI's interface, not this one.
      .filter((file) => file.endsWith(".ts") && !file.startsWith("serve/"))
      .map((file) => readFileSync(join(ROOT, folder, file), "utf8"));
  const source = filesOf("server").join("\n");
  const named = [...source.matchAll(/(?<![\w.])[2-5]\d\d(?![\w.]| (ms|s|KiB|MB))/g)]
    .map(([status]) => status)
    .filter((status) => status in STATUS_CODES);
  const documented = [...OPERATIONS.values()].flatMap(({ responses }) => Object.keys(responses));
  expect(new Set([...documented, ...[...ANYWHERE.keys()].map(String)])).toEqual(new Set(named));
});

test("clients that are refused are answered as the reference says, whatever they ask for", async () => {
  const open = await startServer();
  const guarded = await startServer({ token: TOKEN });
  const refusals: [number, number, string, Record<string, string>][] = [
    [400, open.port, "", { host: "a b" }],
    [400, open.port, "", { host: "a b", accept: "text/html" }],
    [403, open.port, "", { host: "evil.example" }],
    [403, open.port, "", { host: "evil.example", accept: "text/html" }],
    [403, open.port, "", { origin: "http://evil.example" }],
    [413, open.port, "", { "transfer-encoding": "chunked" }],
    [401, guarded.port, "", {}],
    [303, guarded.port, `?token=${TOKEN}`, {}],
  ];
  for (const operation of OPERATIONS.keys()) {
    for (const [status, port, query, headers] of refusals) {
      const answer = await ask(port, operation, { target: targetOf(operation) + query, headers });
      expect(answer.status).toBe(status);
    }
  }
  let isOver = false;
  // Again and again, and more than may wait: on a slow machine, those that do have their answers before the
  // others ask.
  const waiting = Array.from({ length: 2 * MOST_WAITING }, async () => {
    while (!isOver) await askRaw(guarded.port, "/?token=wrong").catch(() => undefined);
  });
  const refused = [...OPERATIONS.keys()].map((operation) =>
    vi.waitFor(async () => {
      const target = `${targetOf(operation)}?token=wrong`;
      expect((await ask(guarded.port, operation, { target })).status).toBe(429);
    }, EVENTUALLY),
  );
  await Promise.all(refused);
  isOver = true;
  await guarded.close();
  await Promise.all(waiting);
});

test("the answer to a wrong method names the right ones", async () => {
  const { port } = await startServer();
  for (const path of Object.keys(REFERENCE.paths)) {
    const target = targetOf(`GET ${path}`);
    const methods = ["GET", "HEAD", "POST"].filter((method) => OPERATIONS.has(`${method} ${path}`));
    for (const method of ["GET", "HEAD", "POST", "PUT"]) {
      if (methods.includes(method)) continue;
      const answer = await askRaw(port, target, method);
      expect(answer.status, `${method} ${target}`).toBe(405);
      expectAnywhere(answer, `${method} ${target}`);
      if (method !== "PUT")
        expect(String(answer.headers["allow"]).split(", ").toSorted()).toEqual(methods);
    }
  }
});

test("requests that are too slow or too long are answered as the reference says", async () => {
  const sent = { 408: "GET / HT", 431: asBytes("/", [`A: ${"a".repeat(40_000)}`]) };
  for (const [status, bytes] of Object.entries(sent)) {
    const limits = status === "408" ? { headersMs: 50, checkMs: 10 } : {};
    const { port } = await startServer({ limits });
    const { socket, closed } = await openRaw(port);
    socket.write(bytes);
    const answer = parseAnswer(await closed());
    expect(String(answer.status)).toBe(status);
    expectAnywhere(answer, status);
  }
});

function parseAnswer(text: string): RawAnswer {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const headers = lines.map((line) => [line.split(": ")[0]?.toLowerCase(), line.split(": ")[1]]);
  return { status: Number(first.split(" ")[1]), headers: Object.fromEntries(headers), body };
}

test("the page and its files are answered as the reference says", async () => {
  const { port } = await startServer();
  for (const method of ["GET", "HEAD"]) {
    await ask(port, `${method} /`);
    for (const file of ["app-1a2b.js", "app-1a2b.css"]) {
      await ask(port, `${method} /assets/{file}`, { target: `/assets/${file}` });
    }
    await ask(port, `${method} /favicon/{file}`, { target: "/favicon/none.svg" });
    for (const path of ["/assets/{file}", "/favicon/{file}"])
      await ask(port, `${method} ${path}`, { target: path.replace("{file}", "none.js") });
  }
  const guarded = await startServer({ token: TOKEN });
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  const { status } = await ask(guarded.port, "GET /", {
    target: `/?token=${TOKEN}`,
    headers: { ...link, "sec-fetch-dest": "document" },
  });
  expect(status).toBe(200);
});

test("a run is answered as the reference says, from the manifest to the end of its events", async () => {
  const { port, project } = await startServer({ project: createTinyProject() });
  expect((await ask(port, "GET /api/manifest")).status).toBe(200);
  expect((await ask(port, "GET /api/train")).status).toBe(204);
  const { headers } = await ask(port, "POST /api/train");
  await ask(port, "GET /api/train", {
    target: `/api/train?run=${String(headers["kit-run"])}&from=4`,
  });
  const { headers: ended } = await ask(port, "GET /api/train");
  expect(ended["kit-run-status"]).toBe("completed");

  const { headers: list } = await ask(port, "GET /api/jobs");
  await ask(port, "GET /api/jobs", { headers: { "if-none-match": String(list["etag"]) } });

  const id = createJobStore(project).list()[0]?.id ?? "";
  expect((await ask(port, "GET /api/jobs/{id}", { target: `/api/jobs/${id}` })).status).toBe(200);
  const target = `/api/jobs/${id}/events`;
  const { body } = await ask(port, "GET /api/jobs/{id}/events", { target });
  for (const name of [
    "training.started",
    "training.log",
    "checkpoint.saved",
    "training.completed",
  ]) {
    expect(body).toContain(`event: ${name}\n`);
  }
  const last = /id: (\d+)\nevent: end\n/.exec(body)?.[1] ?? "";
  await ask(port, "GET /api/jobs/{id}/events", { target, headers: { "last-event-id": last } });
});

test("server errors are answered as the reference says", async () => {
  const busy = await startServer(scripted(`await gate("over");`));
  const first = askRaw(busy.port, "/api/train", "POST");
  await vi.waitFor(async () => {
    const { status } = await ask(busy.port, "POST /api/train");
    expect(status).toBe(409);
  }, EVENTUALLY);
  openGate(busy.project, "over");
  await first;

  const { port } = await startServer(scripted(`process.send({ error: "It does not build." });`));
  expect((await ask(port, "GET /api/manifest")).status).toBe(422);
  expect((await ask(port, "GET /api/jobs/{id}")).status).toBe(404);
  expect((await ask(port, "GET /api/jobs/{id}/events")).status).toBe(404);

  const full = await startServer({ limits: { streams: 0 } });
  const { job } = createJob(full.project);
  const target = `/api/jobs/${job.id}/events`;
  const { status, headers } = await ask(full.port, "GET /api/jobs/{id}/events", { target });
  expect({ status, headers }).toMatchObject({ status: 429, headers: { "retry-after": "5" } });

  const broken = await startServer({ project: createProject({ ".kit/jobs": "", ".kit/run": "" }) });
  expect((await ask(broken.port, "GET /api/jobs")).status).toBe(500);
  expect((await ask(broken.port, "POST /api/train")).status).toBe(500);
});

test("a failed job's events are as the reference says", async () => {
  const { port, project } = await startServer();
  const { job } = createJob(project, "job", [
    STARTED,
    { event: "training.failed", data: { error: "No rows." } },
  ]);
  const { body } = await ask(port, "GET /api/jobs/{id}/events", {
    target: `/api/jobs/${job.id}/events`,
  });
  expect(body).toContain("event: training.failed\n");
});

test("each answer of the reference was seen", () => {
  const documented = [...OPERATIONS].flatMap(([operation, { responses }]) =>
    Object.keys(responses).map((status) => `${operation} ${status}`),
  );
  expect([...answered].toSorted()).toEqual(documented.toSorted());
});

test("the reference has the query parameters and headers that the routes look at", () => {
  const queries = [...OPERATIONS].flatMap(([operation, { parameters = [] }]) =>
    [...parameters, REFERENCE.components.securitySchemes["token"]]
      .filter((parameter) => parameter?.in === "query")
      .map((parameter) => `${operation} ${parameter?.name}`),
  );
  expect([...looked].toSorted()).toEqual(queries.toSorted());

  const routes = join(ROOT, "server/routes");
  const source = readdirSync(routes).map((file) => readFileSync(join(routes, file), "utf8"));
  const read = [...source.join("\n").matchAll(/request\.headers(?:\.|\[")([\w-]+)/g)];
  const headers = [...OPERATIONS.values()].flatMap(({ parameters = [] }) =>
    parameters
      .filter((parameter) => parameter.in === "header")
      .map(({ name }) => name.toLowerCase()),
  );
  expect(new Set(headers)).toEqual(new Set(read.map(([, name]) => name)));
});
