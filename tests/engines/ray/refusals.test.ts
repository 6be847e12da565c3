import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { createCluster } from "../../../engines/ray/cluster.ts";
import { createRayJobs } from "../../../engines/ray/rayJobs.ts";
import type { TrainingOptions } from "../../../protocol/trainConfig.ts";
import { jsonl } from "../embedded/scratch.ts";
import { createScratch } from "../scratch.ts";
import { TOKEN, createRayEngine } from "./environment.ts";

const MEBIBYTE = 2 ** 20;

const scratch = createScratch();
const requests: string[] = [];
let version = "2.58.1";
let server: Server;

beforeAll(async () => {
  server = createServer(({ method, url = "" }, answer) => {
    requests.push(`${method} ${url}`);
    const [, id] = /^\/api\/jobs\/kit-(\w+)/.exec(url) ?? [];
    if (Number(id)) answer.statusCode = Number(id);
    const nodes = { data: { result: { result: [{}] } } };
    const found = id === undefined ? nodes : { status: "RUNNING" };
    answer.end(JSON.stringify(url === "/api/version" ? { ray_version: version } : found));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => {
  server.close();
  scratch.remove();
});

it("needs a Ray that is new enough", async () => {
  version = "2.9.3";
  const error = await refusalOf({});
  version = "2.58.1";
  expect(error).toMatchObject({ name: "KitError", code: "CLUSTER_UNFIT" });
  expect(String(error)).toMatch(
    / runs Ray 2\.9\.3, but Kit needs 2\.58 or newer\. Use a newer one/,
  );
});

it("asks again where a connection that it kept has been closed meanwhile", async () => {
  const remote = createRayJobs(createCluster({ address: addressOf(server), token: TOKEN }));
  await remote.assertReady({});
  server.closeIdleConnections();
  await remote.assertReady({});
});

it("says within half a minute that it could not stop a job", async () => {
  const remote = createRayJobs(createCluster({ address: addressOf(server), token: TOKEN }));
  await expect(remote.stop("kit-500")).rejects.toMatchObject({ code: "CLUSTER_UNREACHABLE" });
  vi.spyOn(AbortSignal, "timeout").mockReturnValue(AbortSignal.timeout(100));
  onTestFinished(() => void vi.restoreAllMocks());
  await expect(remote.stop("kit-running")).rejects.toMatchObject({
    code: "CLUSTER_UNREACHABLE",
    message: expect.stringContaining("(it stops no job)") as string,
  });
});

it("sends no more than Ray takes, and says where else a dataset can lie", async () => {
  const row = `${JSON.stringify({ text: "a" })}${" ".repeat(MEBIBYTE)}
`;
  const path = scratch.file("large.jsonl", row.repeat(100));
  const error = await refusalOf({ dataset: { type: "jsonl", path } });
  expect(error).toMatchObject({ name: "KitError", code: "CLUSTER_UNFIT" });
  expect(String(error)).toMatch(
    /at most 100 MiB to a Ray cluster, but this one has 101, most of it in large\.jsonl\. Move it into ray's storage, .*, or name a URL that the workers see, such as s3:\/\/bucket\/large\.jsonl\.$/,
  );
});

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Of a training that is never submitted. */
async function refusalOf(more: Partial<TrainingOptions>): Promise<unknown> {
  const engine = createRayEngine({ address: addressOf(server), token: TOKEN });
  const path = scratch.file("rows.jsonl", jsonl([{ text: "a" }]));
  const model = { layers: 1, heads: 2, width: 16, context: 48 };
  const config = engine.prepare({ model, dataset: { type: "jsonl", path }, maxSteps: 1, ...more });
  requests.length = 0;
  const { signal } = new AbortController();
  const directory = scratch.directory();
  const training = engine.train({ config, directory, signal, onEvent: () => {} });
  const error = await training.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(requests).toContain("GET /api/version");
  expect(requests.filter((request) => !request.startsWith("GET /api/v"))).toEqual([]);
  return error;
}
