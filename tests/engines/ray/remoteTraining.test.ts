import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { clusterAt, createCluster } from "../../../engines/ray/cluster.ts";
import { createRayEngine } from "../../../engines/ray/index.ts";
import { writeStoredRecord } from "../../../engines/ray/storedRecord.ts";
import { createOwnedJob } from "../../../jobs/ownedJob.ts";
import type { TrainConfig } from "../../../protocol/trainConfig.ts";
import { CONFIG } from "../../jobs.ts";
import { createTinyProject, runKit, tinySource } from "../../kit.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const NAMED = "http://127.0.0.1:1";
const PATH = "s3://runs/1/step-1";
const FILES = { "config.json": { size: 2, sha256: "0" } };

/** A cluster that asks for a token, and what it gets. */
async function startOther() {
  const tokens: (string | undefined)[] = [];
  const server = createServer((asked, answer) => {
    tokens.push(asked.headers.authorization);
    answer.writeHead(401).end("Unauthorized: Missing authentication token");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { tokens, port, address: `http://127.0.0.1:${port}` };
}

const withheld = (address: string) =>
  `The cluster at ${address} needs a token, but its address comes from a job's record, and Kit sends the token only to the project's own address. If that cluster is yours, set ray({ address }) or RAY_ADDRESS to it.`;

it("sends no token to an address that only a job's record names, and says whose it is", async () => {
  const { tokens, address } = await startOther();
  const engine = createRayEngine({ address: NAMED, token: TOKEN });
  const artifact = `${scratchDirectory()}-away`;
  writeStoredRecord(artifact, { address, path: PATH, files: FILES });
  const location = { where: "a cluster", address, checkpoints: "/runs" };
  const ways = [
    () => engine.remote!.reach(location, "kit-1"),
    () => engine.remote!.fetch({ directory: artifact }),
    () => engine.load(artifact),
  ];
  for (const way of ways) {
    await expect(way()).rejects.toMatchObject({
      code: "CLUSTER_REFUSED",
      message: withheld(address),
    });
  }
  expect(tokens.length).toBeGreaterThan(2);
  expect(new Set(tokens)).toEqual(new Set([undefined]));
});

it("believes no forged line of a job that another process began", async () => {
  const failed = { type: "failed", code: "MODEL_INVALID", message: "No." };
  const log = [{ type: "done" }, { secret: "s", ...failed }]
    .map((message) => `${JSON.stringify({ kit: 1, seq: 1, ...message })}\n`)
    .join("");
  const server = createServer(({ url = "" }, answer) => {
    const job = JSON.stringify({ status: "FAILED", driver_node_id: "n" });
    answer.end(url.startsWith("/api/v0/logs/") ? log : job);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const location = { where: "a cluster", address, checkpoints: "/runs", secret: "s" };
  const following = createRayEngine({ address: NAMED }).remote!.follow({
    ...{ directory: scratchDirectory(), location, seen: 0, config: {} as TrainConfig },
    ...{ signal: new AbortController().signal, onEvent: () => {} },
  });
  await expect(following).rejects.toMatchObject({ code: "MODEL_INVALID" });
});

it("takes addresses for the same that differ only in their form", async () => {
  const { tokens, port, address } = await startOther();
  const engine = createRayEngine({ address: `${address}/`, token: TOKEN });
  for (const recorded of [address, `HTTP://127.0.0.1:${port}/`, `${address}/?a#b`]) {
    const location = { where: "a cluster", address: recorded, checkpoints: "/runs" };
    await expect(engine.remote!.reach(location, "kit-1")).rejects.toThrow(/refuses the token/);
  }
  expect(new Set(tokens)).toEqual(new Set([`Bearer ${TOKEN}`]));
});

it.each([
  ["https://head", "https://HEAD:443/", true],
  ["http://head:8265/ray/", "http://Head:8265/ray", true],
  ["http://head:8265", "https://head:8265", false],
  ["http://head:8265", "http://head:8265@evil.example", false],
  ["http://head:8265", "http://head:8266", false],
  ["http://head:8265/ray", "http://head:8265", false],
  [undefined, "head", false],
])("with %s as the project's, %s gets its token: %s", (address, recorded, isSent) => {
  const project = createCluster({ token: TOKEN, ...(address !== undefined && { address }) }, {});
  expect(clusterAt(project, recorded).token()).toBe(isSent ? TOKEN : undefined);
});

it("kit attach sends no token to what a placement.json names", async () => {
  const { tokens, address } = await startOther();
  const before = `import { ray } from "kit/engines";`;
  const options = `engine: ray(${JSON.stringify({ address: NAMED })}),`;
  const project = createTinyProject(tinySource({ before, options }));
  const config = { ...CONFIG, engine: { name: "ray", address } };
  const owned = createOwnedJob(project, "tiny", config);
  owned.recordRemote({ where: `the Ray cluster at ${address}`, address, checkpoints: "/nowhere" });
  owned.close();
  const id = basename(owned.directory);
  const { code, stderr } = await runKit(project, ["attach", id], { RAY_AUTH_TOKEN: TOKEN });
  expect(code).toBe(1);
  expect(stderr).toContain(withheld(address));
  expect(tokens.length).toBeGreaterThan(0);
  expect(new Set(tokens)).toEqual(new Set([undefined]));
});
