import { existsSync, readdirSync } from "node:fs";
import { type Socket, connect } from "node:net";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { openFileStore } from "../../../../server/serve/fineTuning/fileStore.ts";
import type { FineTuningOptions } from "../../../../server/serve/fineTuning/fineTuning.ts";
import { emptyDisk, fillDisk, mountDisk } from "../../../disk.ts";
import { createProject } from "../../../project.ts";
import { asBytes, openRaw } from "../../../rawHttp.ts";
import { type TestServe, apiErrorOf, serve } from "../serveServer.ts";

type FineTuningJob = OpenAI.FineTuning.FineTuningJob;
const JSON_TYPE = "Content-Type: application/json";
const LIMITS = { fileBytes: 1_000 };
/** For uploads that stall only: on a busy machine, any other could exceed it. */
const STALLING = { uploadLimits: { ...LIMITS, stalledMs: 300 } };

/** A server that takes files into a project, whose `kit` is another program. */
async function serveFiles(
  options: object = {},
  {
    project = createProject(),
    kit = [process.execPath, "-e", ""],
    uploadLimits = LIMITS,
  }: Partial<FineTuningOptions> = {},
) {
  const fineTuning = { project, kit, serveModel: () => Promise.resolve(), uploadLimits };
  const server = await serve(undefined, { fineTuning, ...options });
  const folder = join(project, ".kit", "files");
  const file = async () => {
    const response = await upload(server, FILE + PURPOSE + END);
    return ((await response.json()) as { id: string }).id;
  };
  return { server, project, file, left: () => (existsSync(folder) ? readdirSync(folder) : []) };
}

function part(name: string, content: string, filename?: string): string {
  const of = filename === undefined ? "" : `; filename="${filename}"`;
  return `--x\r\nContent-Disposition: form-data; name="${name}"${of}\r\n\r\n${content}\r\n`;
}

const FILE = part("file", "{}", "train.jsonl");
const PURPOSE = part("purpose", "fine-tune");
const NAMELESS = "--x\r\nContent-Disposition: form-data\r\n\r\n{}\r\n";
const END = "--x--\r\n";

function upload({ url }: TestServe, body: string, headers: Record<string, string> = {}) {
  const type = { "Content-Type": "multipart/form-data; boundary=x" };
  return fetch(`${url}/v1/files`, { method: "POST", headers: { ...type, ...headers }, body });
}

/** Sends the beginning of an upload on a bare connection. */
function begin({ port }: TestServe, length: number, body: string): Socket {
  const socket = connect(port, "127.0.0.1");
  const head = ["POST /v1/files HTTP/1.1", "Host: localhost", `Content-Length: ${length}`];
  const type = "Content-Type: multipart/form-data; boundary=x";
  socket.write(`${[...head, type].join("\r\n")}\r\n\r\n${body}`);
  return socket;
}

async function answerOf(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}

it("keeps files as OpenAI does: lists, shows, pages, returns and deletes them", async () => {
  const { server } = await serveFiles();
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none" });
  const create = (text: string, name: string) =>
    toFile(Buffer.from(text), name).then((file) =>
      client.files.create({ file, purpose: "fine-tune" }),
    );
  const one = await create('{"a":1}', "one.jsonl");
  const fields = { object: "file", bytes: 7, purpose: "fine-tune", status: "processed" };
  expect(one).toMatchObject({ ...fields, filename: "one.jsonl" });
  const others = [await create("2", "two"), await create("3", "three")];
  expect(await client.files.retrieve(one.id)).toEqual(one);
  expect(await (await client.files.content(one.id)).text()).toBe('{"a":1}');
  const ids: string[] = [];
  for await (const { id } of client.files.list({ limit: 1 })) ids.push(id);
  expect(ids).toEqual([...others.toReversed(), one].map(({ id }) => id));
  const wrong = await fetch(`${server.url}/v1/files?order=banana`);
  expect([wrong.status, (await apiErrorOf(wrong)).param]).toEqual([400, "order"]);
  expect((await client.files.list({ purpose: "batch" })).data).toEqual([]);
  expect(await client.files.delete(one.id)).toEqual({ id: one.id, object: "file", deleted: true });
  await expect(client.files.retrieve(one.id)).rejects.toMatchObject({ status: 404 });
  // A page after a deleted one, as in a loop that deletes.
  for await (const { id } of client.files.list({ limit: 1 })) await client.files.delete(id);
  expect((await client.files.list()).data).toEqual([]);
});

describe("an upload that is refused leaves nothing behind", () => {
  it.each<[what: string, body: string, status: number, param: string | null]>([
    ["is too long", part("file", "x".repeat(1_001), "a") + PURPOSE + END, 413, "file"],
    ["has another purpose", FILE + part("purpose", "batch") + END, 400, "purpose"],
    ["has no purpose", FILE + END, 400, "purpose"],
    ["has two files", FILE + FILE + PURPOSE + END, 400, "file"],
    ["has two purposes", FILE + PURPOSE + PURPOSE + END, 400, "purpose"],
    ["has no file", PURPOSE + END, 400, "file"],
    ["has an empty file", part("file", "", "a") + PURPOSE + END, 400, "file"],
    ["has a file of another name", part("data", "{}", "a") + PURPOSE + END, 400, "data"],
    [
      "expires",
      FILE + PURPOSE + part("expires_after[seconds]", "1") + END,
      400,
      "expires_after[seconds]",
    ],
    ["has a field without a name", FILE + PURPOSE + NAMELESS + END, 400, null],
    ["has a file without a name", NAMELESS.replace("data", 'data; filename="a"') + END, 400, null],
    ["has a name without end", part("a".repeat(256), "1") + END, 400, null],
    [
      "has many fields",
      [...Array(40).keys()].map((n) => part(`${n}`, "")).join("") + FILE + END,
      400,
      "0",
    ],
    ["has no end", FILE + PURPOSE, 400, null],
    ["is no form", "{}", 400, null],
  ])("it %s", async (_, body, status, param) => {
    const { server, left } = await serveFiles();
    const response = await upload(server, body);
    expect([response.status, (await apiErrorOf(response)).param]).toEqual([status, param]);
    expect(left()).toEqual([]);
  });

  it("it is JSON, has no boundary, or says that it is too long", async () => {
    const { server, left } = await serveFiles();
    for (const [type, status] of [
      ["application/json", 415],
      ["multipart/form-data", 415],
      ["multipart/form-data; charset=utf-8", 400],
    ] as const) {
      expect((await upload(server, FILE, { "Content-Type": type })).status).toBe(status);
    }
    const long = begin(server, 600 * 2 ** 20, FILE);
    const answer = answerOf(long);
    long.end();
    expect(await answer).toMatch(/^HTTP\/1.1 413 /);
    expect(left()).toEqual([]);
  });

  it("it stalls, or says that it is longer than it is", async () => {
    const { server, left } = await serveFiles({}, STALLING);
    const socket = begin(server, 10_000, `${part("file", "{}", "a").trimEnd()}`);
    expect(await answerOf(socket)).toMatch(/^HTTP\/1.1 408 [^]*sent too little in 0.3 s/);
    expect(left()).toEqual([]);
  });

  it("it breaks off", async () => {
    const { server, left } = await serveFiles({});
    const socket = begin(server, 10_000, part("file", "{}", "a").trimEnd());
    await expect.poll(left).toHaveLength(1);
    socket.destroy();
    await expect.poll(left).toEqual([]);
    await expect.poll(() => server.records.map(({ status }) => status)).toEqual([499]);
  });

  it("it says that it is shorter than it is", async () => {
    const { server, left } = await serveFiles();
    const socket = begin(server, FILE.length - 10, FILE + PURPOSE + END);
    // The rest is a malformed request of its own.
    expect(await answerOf(socket)).toMatch(
      /^HTTP\/1.1 400 [^]*"The form is malformed or incomplete/,
    );
    expect(left()).toEqual([]);
  });
});

it("a full disk gets a 507 in every phase, and the files before are whole", async () => {
  const project = createProject();
  const disk = join(project, ".kit");
  mountDisk(disk, 1024);
  const uploadLimits = { fileBytes: 2 ** 23 };
  const { server, file, left } = await serveFiles({}, { project, uploadLimits });
  const kept = await file();
  const contentOf = async () => (await fetch(`${server.url}/v1/files/${kept}/content`)).text();
  const send = async (length: number) => {
    const response = await upload(server, part("file", "x".repeat(length), "a") + PURPOSE + END);
    return [response.status, (await apiErrorOf(response)).message];
  };
  const full = [507, "The server's disk is full. Free disk space there."];
  // Within the file, and longer than all buffers.
  for (const length of [2 ** 20, 2 ** 22]) expect(await send(length)).toEqual(full);
  expect(left()).toEqual([kept]);
  fillDisk(disk);
  expect(await send(9)).toEqual(full);
  const job = await server.post("fine_tuning/jobs", { model: "org/name", training_file: kept });
  expect([job.status, (await apiErrorOf(job)).message]).toEqual(full);
  expect([left(), await contentOf()]).toEqual([[kept], "{}"]);
  emptyDisk(disk);
  expect(await file()).toBeDefined();
});

it("an upload whose server was killed is gone when the next one starts", () => {
  const project = createProject({ ".kit/files/.upload-999999999-a/content": "{}" });
  expect(openFileStore(project).list()).toEqual([]);
  expect(readdirSync(join(project, ".kit", "files"))).toEqual([]);
});

it.each([
  ["../x", "x"],
  ["..\\..\\x.jsonl", "x.jsonl"],
  ["/etc/passwd", "passwd"],
  ["..", "file"],
  ["a\u001bb", "a\\u001bb"],
  [undefined, "file"],
])("a file named %j is named %j, which is never a path", async (sent, filename) => {
  const { server, left } = await serveFiles();
  const whole = part("file", "{}", sent);
  const bytes = whole.replace("\r\n\r\n", "\r\nContent-Type: application/octet-stream\r\n\r\n");
  const response = await upload(server, bytes + PURPOSE + END);
  const file = (await response.json()) as { id: string };
  expect(file).toMatchObject({ filename });
  expect(left()).toEqual([file.id]);
});

it("refuses uploads beyond the limit, and is off unless it was turned on", async () => {
  const { server } = await serveFiles();
  const open = Array.from({ length: 8 }, () => begin(server, 10_000, FILE));
  await Promise.all(
    open.map((socket) => new Promise((resolve) => socket.once("connect", resolve))),
  );
  await expect.poll(async () => (await upload(server, FILE + PURPOSE + END)).status).toBe(429);
  open.forEach((socket) => socket.destroy());
  const off = await serve();
  for (const path of ["files", "fine_tuning/jobs"]) {
    const response = await fetch(`${off.url}/v1/${path}`);
    expect(response.status).toBe(404);
    expect((await apiErrorOf(response)).message).toMatch(/--fine-tuning/);
  }
  expect((await fetch(`${off.url}/v1/files/x`, { method: "DELETE" })).status).toBe(404);
});

it.each([
  ["exit", "process.exit(3)", /^kit check ended with code 3 before the training began/],
  ["are killed", "process.kill(process.pid, 'SIGKILL')", /^kit check ended with SIGKILL /],
])("a job whose processes %s at once fails, and names no path", async (_, code, message) => {
  const { server, project, file } = await serveFiles({}, { kit: [process.execPath, "-e", code] });
  const body = { model: "org/name", training_file: await file() };
  const { id } = (await (await server.post("fine_tuning/jobs", body)).json()) as { id: string };
  const read = async () =>
    (await (await fetch(`${server.url}/v1/fine_tuning/jobs/${id}`)).json()) as FineTuningJob;
  await expect.poll(async () => (await read()).status).toBe("failed");
  const { error } = await read();
  expect(error?.message).toMatch(message);
  expect(error?.message).not.toContain(project);
});

it("a body that takes too long gets a 408, but an upload may take longer", async () => {
  const { server } = await serveFiles({ limits: { requestMs: 100, checkMs: 10 } }, STALLING);
  const { socket, closed } = await openRaw(server.port);
  socket.write(asBytes("/v1/fine_tuning/jobs", [JSON_TYPE, "Content-Length: 9"], "POST"));
  expect(await closed()).toMatch(/^HTTP\/1.1 408 [^]*took too long/);
  const slow = begin(server, 10_000, FILE);
  // A byte now and then doesn't hold the slot.
  const trickle = setInterval(() => slow.write("a"), 50);
  slow.once("close", () => clearInterval(trickle));
  expect(await answerOf(slow)).toMatch(/sent too little in 0.3 s/);
});

it.each([
  ["files/x/y", {}, 404, /\/v1\/files or \/v1\/fine_tuning\/jobs\.$/],
  ["fine_tuning/jobs/x/y", {}, 404, /\/v1\/files or \/v1\/fine_tuning\/jobs\.$/],
  ["files", { Origin: "https://a.example" }, 403, /kit serve --allowed-origin <origin>$/],
  ["files", { "Sec-Fetch-Site": "cross-site" }, 403, /kit serve --allowed-origin <origin>$/],
])("an error at /v1/%s has advice that fits: %j", async (path, headers, status, message) => {
  const { server } = await serveFiles();
  const response = await fetch(`${server.url}/v1/${path}`, { headers });
  expect([response.status, (await apiErrorOf(response)).message]).toEqual([
    status,
    expect.stringMatching(message),
  ]);
});

it("needs the key, an allowed host and an allowed origin on every route", async () => {
  const key = "0123456789abcdef";
  const { server } = await serveFiles({ key, allowedOrigins: ["https://app.example"] });
  const routes = [
    ...["GET files", "POST files", "GET files/x", "GET files/x/content", "DELETE files/x"],
    ...["GET fine_tuning/jobs", "POST fine_tuning/jobs", "GET fine_tuning/jobs/x"],
    ...["POST fine_tuning/jobs/x/cancel", "GET fine_tuning/jobs/x/events"],
  ];
  const authorized = { Authorization: `Bearer ${key}` };
  for (const route of routes) {
    const [method = "", path = ""] = route.split(" ");
    const status = async (headers: Record<string, string>) =>
      (await fetch(`${server.url}/v1/${path}`, { method, headers })).status;
    expect(await status({}), route).toBe(401);
    expect(await status({ ...authorized, Origin: "https://evil.example" }), route).toBe(403);
    expect(await status({ ...authorized, "Sec-Fetch-Site": "cross-site" }), route).toBe(403);
    expect([200, 400, 404, 415], route).toContain(await status(authorized));
  }
  const preflight = await fetch(`${server.url}/v1/files/x`, {
    method: "OPTIONS",
    headers: { Origin: "https://app.example", "Access-Control-Request-Method": "DELETE" },
  });
  expect(preflight.headers.get("Access-Control-Allow-Methods")).toBe("GET, POST, DELETE");
});
