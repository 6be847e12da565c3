import { EventEmitter, once } from "node:events";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { adapterFiles, saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../../../engines/checkpoint/directory.ts";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import { createCluster } from "../../../engines/ray/cluster.ts";
import { createPackage } from "../../../engines/ray/pack.ts";
import { createRayJobs } from "../../../engines/ray/rayJobs.ts";
import { writeStoredRecord } from "../../../engines/ray/storedRecord.ts";
import { zip } from "../../../engines/ray/zip.ts";
import { createOwnedJob } from "../../../jobs/ownedJob.ts";
import type { RayOptions } from "../../../protocol/engineOptions.ts";
import { CONFIG } from "../../jobs.ts";
import { createTinyProject, startKit, tinySource } from "../../kit.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { TINY, tinyWeights } from "../embedded/tiny.ts";
import { createRayEngine } from "./environment.ts";

const NOTES = { shape: TINY, promptStyle: "message" } as const;
const LORA = { r: 2, alpha: 6, targetModules: ["q_proj"] };
const MEBIBYTE = 2 ** 20;
const NODES = JSON.stringify({ data: { result: { result: [{ resources_total: { CPU: 1 } }] } } });
const READY: Answers = {
  "/api/version": (_, answer) => answer.end('{"ray_version":"2.58.0","session_name":"session_1"}'),
  "/api/v0/nodes": (_, answer) => answer.end(NODES),
};

type Answers = Record<string, (asked: IncomingMessage, answer: ServerResponse) => void>;

/** A server that answers as it is told, by the beginnings of paths. */
async function startDashboard(answers: Answers) {
  const requests: string[] = [];
  const server = createServer((asked, answer) => {
    const { method = "", url = "" } = asked;
    requests.push(`${method} ${url}`);
    asked.resume();
    const found = Object.entries(answers).find(([path]) => url.startsWith(path));
    if (found) found[1](asked, answer);
    else answer.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const remoteWith = (options: RayOptions = {}) =>
    createRayJobs(createCluster({ address: `http://${host}`, ...options }, { HOME: "/none" }));
  return { requests, host, server, remoteWith };
}

const sends = (status: number, body: string) => (_: IncomingMessage, answer: ServerResponse) =>
  answer.writeHead(status).end(body);

it.each([
  [502, "<html>", "CLUSTER_UNREACHABLE", / sent status 502 instead of Ray's version\. Try again; /],
  [302, "", "CLUSTER_UNREACHABLE", / sent status 302 instead of Ray's version\. Try again; /],
  [404, "", "CLUSTER_UNFIT", / is not Ray\. /],
  [200, "<html>", "CLUSTER_UNFIT", / is not Ray\. /],
  [
    403,
    "<html>",
    "CLUSTER_REFUSED",
    / with status 403, but not because of Ray's token\. Check the proxy /,
  ],
  [403, "Forbidden: Invalid authentication token", "CLUSTER_REFUSED", / refuses the token\. /],
])("says what a dashboard's %i with %j is", async (status, body, code, message) => {
  const { remoteWith } = await startDashboard({ "/": sends(status, body) });
  await expect(remoteWith({ token: "a" }).assertReady()).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message) as string,
  });
});

it.each(["2.57.9", "2.9.3"])("refuses Ray %s, older than Kit was tested with", async (version) => {
  const { host, remoteWith } = await startDashboard({
    "/api/version": sends(200, JSON.stringify({ ray_version: version })),
  });
  await expect(remoteWith().assertReady()).rejects.toMatchObject({
    code: "CLUSTER_UNFIT",
    message: `The cluster at http://${host} runs Ray ${version}, but Kit needs 2.58 or newer. Use a newer one.`,
  });
});

it("asks again where a connection that it kept has been closed meanwhile", async () => {
  const { server, remoteWith } = await startDashboard(READY);
  const remote = remoteWith();
  await remote.assertReady();
  server.closeIdleConnections();
  await remote.assertReady();
});

it.each(["1.0\u001b[2J", "2", "latest", `1.0${"0".repeat(50)}`, "1.0\nwarning: run this"])(
  "prints no version that is none, such as %j",
  async (version) => {
    const { remoteWith } = await startDashboard({
      "/api/version": sends(200, JSON.stringify({ ray_version: version })),
    });
    const error = await rejectionOf(remoteWith().assertReady());
    expect(error).toMatchObject({ code: "CLUSTER_UNFIT" });
    expect(String(error)).toMatch(/^KitError: The server at \S+ is not Ray\. Use [\w ,]+\.$/);
  },
);

const isAuthorized: Answers[string] = (asked, answer) =>
  asked.headers.authorization === "Bearer a"
    ? answer.end('{"ray_version":"2.58.0"}')
    : answer.writeHead(401).end("Unauthorized: Missing authentication token");

it.each([
  ["an open cluster elsewhere", "0.0.0.0", READY["/api/version"]!, undefined, 1],
  ["one that needs no token, though it gets one", "0.0.0.0", READY["/api/version"]!, "a", 1],
  ["one that asks for a token", "0.0.0.0", isAuthorized, "a", 0],
  ["an open one on this machine, or behind a tunnel", "127.0.0.1", READY["/api/version"]!, "a", 0],
])("warns of %s or not", async (_, name, version, token, warnings) => {
  const { host, remoteWith } = await startDashboard({ ...READY, "/api/version": version });
  const address = `http://${host.replace("127.0.0.1", name)}`;
  const notes: string[] = [];
  const remote = remoteWith({ address, ...(token !== undefined && { token }) });
  await remote.assertReady({ onNote: (text) => notes.push(text) });
  const warning = `warning: the Ray cluster at ${address} needs no token, so anyone who can reach it can run code there, and so can web pages through a browser (CVE-2025-62593, CVE-2026-27482). Start Ray with RAY_AUTH_MODE=token, or make its dashboard reachable only through a tunnel.`;
  expect(notes).toEqual(Array(warnings).fill(warning));
});

it("needs the number of nodes, unless all of them have one place for checkpoints", async () => {
  const failing = { ...READY, "/api/v0/nodes": sends(500, '{"result":false}') };
  const { remoteWith } = await startDashboard(failing);
  await expect(remoteWith().assertReady()).rejects.toMatchObject({
    code: "CLUSTER_UNREACHABLE",
    message: expect.stringContaining("(status 500 instead of a list of its nodes)") as string,
  });
  await remoteWith({ storage: "/mnt/runs" }).assertReady();
});

it("names https at a port without TLS in one line", async () => {
  const { host, remoteWith } = await startDashboard(READY);
  const error = await rejectionOf(remoteWith({ address: `HTTPS://${host}` }).assertReady());
  expect(error).toMatchObject({ code: "CLUSTER_UNREACHABLE" });
  expect(String(error)).toMatch(/ \(it does not speak TLS: use http:\/\/\)\. Check [^\n]*$/);
});

it("gives up a dashboard that hangs when it is told to", async () => {
  const abort = new AbortController();
  const hanging = { "/api/version": () => abort.abort(new Error("enough")) };
  const { remoteWith } = await startDashboard(hanging);
  await expect(remoteWith().assertReady(abort)).rejects.toThrow("enough");
});

it("reads no more of an answer than a dashboard would send", async () => {
  let sent = 0;
  const { remoteWith } = await startDashboard({
    "/api/version": (_, answer) => {
      const more = () => {
        sent += MEBIBYTE;
        if (!answer.destroyed && sent < 1024 * MEBIBYTE) answer.write("x".repeat(MEBIBYTE), more);
      };
      more();
    },
  });
  await expect(remoteWith().assertReady()).rejects.toThrow("(a response of more than 16 MiB)");
  expect(sent).toBeLessThan(64 * MEBIBYTE);
});

it("says by its status that a proxy does not take the package", async () => {
  const page = "<html>\n<body>Too large</body>\n</html>\n";
  const { remoteWith } = await startDashboard({
    "/api/packages": ({ method }, answer) =>
      method === "GET" ? answer.writeHead(404).end() : answer.writeHead(502).end(page),
  });
  const submitted = remoteWith().submit({ id: "kit-1", secret: "s", files: [], command: "true" });
  await expect(submitted).rejects.toThrow(
    "The Ray cluster rejected the package: status 502. See the log of its dashboard.",
  );
});

it.each([
  [500, "Job kit-1 does not exist", undefined],
  [404, "404: Not Found", undefined],
  [404, "Job kit-2 does not exist", undefined],
  [200, "<html>", undefined],
  [200, '{"status":"DONE"}', undefined],
  [404, "Job kit-1 does not exist", { phase: "unknown" }],
  [200, '{"status":"SUCCEEDED"}', { phase: "ended", hasSucceeded: true, message: "SUCCEEDED" }],
])("takes %i with %j for a job's status only if it is Ray's", async (status, body, expected) => {
  const { remoteWith } = await startDashboard({ "/api/jobs/": sends(status, body) });
  const asked = remoteWith().status("kit-1");
  if (expected) expect(await asked).toEqual(expected);
  else await expect(asked).rejects.toMatchObject({ code: "CLUSTER_UNREACHABLE" });
  if (status !== 200 && !expected) {
    await expect(remoteWith().stop("kit-1")).rejects.toMatchObject({ code: "CLUSTER_UNREACHABLE" });
  }
});

it("sends a job again that a gateway has lost, and does not take it for refused", async () => {
  const statuses = [502, 200, 504];
  let passed = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + passed);
  onTestFinished(() => void vi.restoreAllMocks());
  const { requests, remoteWith } = await startDashboard({
    "/api/packages": sends(200, "{}"),
    "/api/jobs/": ({ method }, answer) => {
      if (statuses.length === 1) passed = 3_600_000;
      if (method === "POST") answer.writeHead(statuses.shift() ?? 500).end("<html>");
      else answer.writeHead(404).end("Job kit-1 does not exist");
    },
  });
  const submission = { id: "kit-1", secret: "s", files: [], command: "true" };
  await remoteWith().submit(submission);
  expect(requests.filter((request) => request === "POST /api/jobs/")).toHaveLength(2);
  await expect(remoteWith().submit(submission)).rejects.toMatchObject({
    code: "CLUSTER_UNREACHABLE",
  });
});

it("waits at Ctrl-C for a job that is on its way, but not for ever", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let abort = new AbortController();
  let isHung = false;
  const { requests, remoteWith } = await startDashboard({
    "/api/packages": sends(200, "{}"),
    "/api/jobs/": (_, answer) => {
      abort.abort(new Error("Ctrl-C"));
      if (isHung) vi.advanceTimersByTime(20_000);
      else answer.end("{}");
    },
  });
  const submit = () =>
    remoteWith().submit({
      id: "kit-1",
      secret: "s",
      files: [],
      command: "true",
      signal: abort.signal,
    });
  await submit();
  [abort, isHung] = [new AbortController(), true];
  await expect(submit()).rejects.toThrow("Ctrl-C");
  expect(requests.filter((request) => request === "POST /api/jobs/")).toHaveLength(2);
});

it("asks once more to stop a job whose submit got no answer", async () => {
  const abort = new AbortController();
  const unknown = sends(404, "Job kit-1 does not exist");
  const stops = [unknown, sends(200, "{}")];
  const { requests, remoteWith } = await startDashboard({
    "/api/packages": sends(200, "{}"),
    "/api/jobs/kit-1/stop": (...asked) => stops.shift()?.(...asked),
    "/api/jobs/kit-1": (...asked) =>
      (stops.length > 0 ? unknown : sends(200, '{"status":"STOPPED"}'))(...asked),
    "/api/jobs/": (_, answer) => {
      abort.abort(new Error("Ctrl-C"));
      answer.destroy();
    },
  });
  const remote = remoteWith();
  const submission = { id: "kit-1", secret: "s", files: [], command: "true", signal: abort.signal };
  await expect(remote.submit(submission)).rejects.toThrow();
  await remote.stop("kit-1");
  expect(requests.filter((request) => request.endsWith("/stop"))).toHaveLength(2);
});

it("says within half a minute that it could not stop a job", async () => {
  vi.spyOn(AbortSignal, "timeout").mockReturnValue(AbortSignal.timeout(100));
  onTestFinished(() => void vi.restoreAllMocks());
  const { remoteWith } = await startDashboard({ "/api/jobs/": sends(200, '{"status":"RUNNING"}') });
  await expect(remoteWith().stop("kit-1")).rejects.toMatchObject({
    code: "CLUSTER_UNREACHABLE",
    message: expect.stringContaining("(it did not stop the job)") as string,
  });
});

it("says before a job is handed over that the cluster has no room for it, and once that it is not started yet", async () => {
  const states = ["PENDING", "PENDING", "FAILED"];
  const nodes = [{ CPU: 3 }, { CPU: 3, GPU: 1 }].map((has) => ({ resources_total: has }));
  const { host } = await startDashboard({
    ...READY,
    "/api/v0/nodes": sends(200, JSON.stringify({ data: { result: { result: nodes } } })),
    "/api/packages": sends(200, "{}"),
    "/api/jobs/": ({ method }, answer) => {
      const job =
        method === "POST" ? {} : { status: states.shift() ?? "FAILED", runtime_env: { pip: {} } };
      answer.end(JSON.stringify(job));
    },
  });
  const address = `http://${host}`;
  const more = { workers: 3, cpusPerWorker: 2, storage: "/mnt/runs" };
  const directory = scratchDirectory();
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "rows.jsonl");
  writeFileSync(path, '{"text":"a"}\n');
  const engine = createRayEngine({ address, ...more });
  const dataset = { type: "jsonl", path } as const;
  const config = engine.prepare({ model: TINY, dataset, maxSteps: 1, batchSize: 3 });
  const heard: string[] = [];
  const { signal } = new AbortController();
  const trained = engine.train({
    ...{ config, directory, signal, onEvent: () => {} },
    onNote: (text) => heard.push(text),
    onRemote: ({ session }) => heard.push(`handed over to ${session}`),
  });
  await expect(trained).rejects.toMatchObject({ code: "WORKER_FAILED" });
  expect(heard).toEqual([
    expect.stringMatching(/^warning: .* 2 of 3 workers/),
    "handed over to session_1",
    `waiting for the Ray cluster at ${address}: it installs ray's pip packages for the job`,
  ]);
});

it("counts the whole archive, to the byte", () => {
  const folder = scratchDirectory();
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "rows.jsonl");
  const own = [{ path: "k\u00efnd/code.py", bytes: Buffer.alloc(10) }];
  const packed = (size: number) => {
    writeFileSync(path, Buffer.alloc(size));
    const data = createPackage(createCluster({ address: "http://head" }, {}));
    data.file(path, "data/0");
    return [...own, ...data.files(own)];
  };
  const rest = zip(packed(0)).length;
  const most = 100 * MEBIBYTE - rest - 1;
  expect(zip(packed(most))).toHaveLength(100 * MEBIBYTE - 1);
  expect(() => packed(most + 1)).toThrow(
    /at most 100 MiB per job, but this one has 101, most of it in rows\.jsonl\. Move it into ray's storage, .*, or use a URL that the workers can read, such as s3:\/\/bucket\/rows\.jsonl\.$/,
  );
});

it("names a link in a model's folder that leads nowhere", () => {
  const folder = scratchDirectory();
  mkdirSync(folder, { recursive: true });
  symlinkSync("none", join(folder, "model.safetensors"));
  const data = createPackage(createCluster({ address: "http://head" }, {}));
  expect(() => data.folder(folder, "model")).toThrow(
    `${join(folder, "model.safetensors")} must be uploaded to the cluster, but cannot be read (ENOENT). Restore it, or remove the link to it.`,
  );
});

/** A cluster where a job of this kind waits until it is stopped, a project that uses it, and the job's id. */
async function startWaiting(kind: string) {
  const found = new EventEmitter<{ id: [string] }>();
  let status = "PENDING";
  const { requests, host } = await startDashboard({
    ...READY,
    "/api/packages": sends(200, "{}"),
    [`/api/jobs/kit-${kind}-`]: ({ method, url = "" }, answer) => {
      if (method === "POST") status = "STOPPED";
      found.emit("id", url.slice("/api/jobs/".length));
      answer.end(JSON.stringify({ status }));
    },
    "/api/jobs/": sends(200, "{}"),
  });
  const address = `http://${host}`;
  const before = 'import { ray } from "kit/engines";';
  const options = `engine: ray({ address: "${address}" }),`;
  const project = createTinyProject(tinySource({ before, options }));
  const isFound = once(found, "id").then(([id]) => id as string);
  return { requests, address, project, isFound };
}

it("stops the job of kit check, and removes its folder, at Ctrl-C", async () => {
  const { requests, address, project, isFound } = await startWaiting("check");
  const { child, ended } = startKit(project, ["check"]);
  const id = await isFound;
  expect(existsSync(join(tmpdir(), id))).toBe(true);
  child.kill("SIGINT");
  expect(await ended).toMatchObject({
    ...{ code: 130, stdout: "" },
    stderr: `waiting for the Ray cluster at ${address}: it unpacks the job's package\n`,
  });
  expect(requests).toContain(`POST /api/jobs/${id}/stop`);
  expect(existsSync(join(tmpdir(), id))).toBe(false);
});

it("stops the job that answers kit infer at Ctrl-C, while it loads", async () => {
  const { requests, address, project, isFound } = await startWaiting("infer");
  const job = createOwnedJob(project, "far", { ...CONFIG, engine: { name: "ray" } });
  writeStoredRecord(join(job.directory, "artifacts/step-1"), {
    address,
    path: "/far/1",
    files: { "config.json": { size: 2, sha256: "0" } },
  });
  job.close();
  const { child, ended } = startKit(project, ["infer", "latest", "1"]);
  const id = await isFound;
  child.kill("SIGINT");
  const { code, stdout, stderr } = await ended;
  expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
  expect(stderr).toMatch(
    /^inference runs on the Ray cluster at \S+: the files of step-1 exist only there\n/,
  );
  expect(requests).toContain(`POST /api/jobs/${id}/stop`);
});

it("refuses an adapter to an adapter in a check as in a training, before anything is sent", async () => {
  const { requests, host } = await startDashboard({ ...READY, "/api/": sends(500, "") });
  const [base, adapter] = ["base", "adapter"].map((name) => join(scratchDirectory(), name));
  saveModel(base!, tinyWeights(), NOTES);
  writeDirectory(
    adapter!,
    adapterFiles(randomAdapter(LORA, TINY, 1), { ...NOTES, lora: LORA, base: base! }),
  );
  const path = join(base!, "rows.jsonl");
  writeFileSync(path, '{"text":"a"}\n');
  const engine = createRayEngine({ address: `http://${host}` });
  const dataset = { type: "jsonl", path } as const;
  const config = engine.prepare({ model: adapter!, dataset, lora: LORA, maxSteps: 1 });
  await expect(engine.check({ config })).rejects.toThrow(
    / and ray can't train another on top of it\. /,
  );
  expect(requests.filter((request) => !request.startsWith("GET /api/v"))).toEqual([]);
});

async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
