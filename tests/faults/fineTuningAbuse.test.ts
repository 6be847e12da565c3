import { readdirSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject } from "../project.ts";
import { statusesIn } from "../rawHttp.ts";
import { serve } from "../server/serve/serveServer.ts";
import { createRandom } from "./random.ts";
import { LONGER } from "./table.ts";

const REQUESTS = 2_000 * LONGER;
const AT_ONCE = 16;
const UPLOADS = { fileBytes: 2_000, uploads: 8 };
const METHODS = ["GET", "GET", "POST", "POST", "POST", "DELETE", "HEAD", "PUT"];
const IDS = [
  "file-0",
  "ft-0",
  "..",
  "%2e%2e",
  "%2F",
  "file-results-x",
  "ft-20261126-000000-000-aaaa",
];
const QUERIES = [
  "limit=1",
  "limit=0",
  "limit=1e9",
  "after=x",
  "order=asc",
  "metadata[a]=b",
  "&&=",
  "%",
];
const FIELDS = [
  ...["model", "training_file", "validation_file", "suffix", "seed", "metadata", "method"],
  ...["hyperparameters", "integrations", "n_epochs", "type", "dpo", "supervised", "__proto__"],
];

test("thousands of random, mutated and broken requests for files and fine-tuning jobs do no harm", async () => {
  const random = createRandom();
  const below = (most: number) => Math.floor(random() * most);
  const oneOf = <T>(all: readonly T[]): T => all[below(all.length)]!;
  const project = createProject();
  const kit = [process.execPath, "-e", ""];
  const tuning = { project, kit, serveModel: () => Promise.resolve(), uploadLimits: UPLOADS };
  const server = await serve(undefined, { fineTuning: tuning });

  function anyValue(depth = 0): unknown {
    const kind = random();
    if (kind < 0.3 && depth < 3) {
      const entries = Array.from({ length: below(4) }, () => [oneOf(FIELDS), anyValue(depth + 1)]);
      return Object.fromEntries(entries) as object;
    }
    if (kind < 0.4 && depth < 3) return Array.from({ length: below(3) }, () => anyValue(depth + 1));
    return oneOf([
      null,
      true,
      0,
      -1,
      0.5,
      2 ** 53,
      "",
      "auto",
      "dpo",
      "org/name",
      "\ud800",
      "file-0",
    ]);
  }

  function mutated(text: string): string {
    if (random() < 0.4) return text;
    const at = below(text.length);
    return text.slice(0, at) + String.fromCharCode(below(0x300)) + text.slice(at + below(8));
  }

  function form(): [body: string, type: string] {
    const part = (name: string, content: string, more = "") =>
      `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`;
    const parts = [
      part("file", "x".repeat(below(3_000)), `; filename="${oneOf(["a", "../a", "\u0000", ""])}"`),
      part(oneOf(["purpose", "file", "other"]), oneOf(["fine-tune", "batch", ""])),
    ];
    return [
      mutated(`${oneOf([parts, parts.toReversed()]).join("")}--x--\r\n`),
      "multipart/form-data; boundary=x",
    ];
  }

  function anyRequest(): string {
    const id = oneOf(IDS);
    const job = `/v1/fine_tuning/jobs/${id}`;
    const path = oneOf([
      ...["/v1/files", "/v1/files", `/v1/files/${id}`, `/v1/files/${id}/content`],
      ...["/v1/fine_tuning/jobs", job, `${job}/cancel`, `${job}/events`, `${job}/checkpoints`],
    ]);
    const json = () => [mutated(JSON.stringify(anyValue())), "application/json"] as const;
    const [body, type] = random() < 0.5 ? form() : json();
    const length = Buffer.byteLength(body) + (random() < 0.1 ? below(40) - 20 : 0);
    const head = [
      `${oneOf(METHODS)} ${path}${random() < 0.3 ? `?${oneOf(QUERIES)}` : ""} HTTP/1.1`,
      ...["Host: localhost", `Content-Type: ${type}`, `Content-Length: ${length}`],
      oneOf(["Connection: close", "Expect: 100-continue", "A: b"]),
    ];
    return `${head.join("\r\n")}\r\n\r\n${body}`;
  }

  /** Resolves with the statuses of what came back until an answer, or the end. */
  function send(bytes: string): Promise<number[]> {
    return new Promise((resolve) => {
      const socket = createConnection({ host: "127.0.0.1", port: server.port });
      let text = "";
      socket.setEncoding("latin1");
      socket.on("data", (chunk: string) => {
        text += chunk;
        if (statusesIn(text).some((status) => status >= 200)) socket.destroy();
      });
      socket.on("error", () => undefined);
      socket.on("close", () => resolve(statusesIn(text)));
      // The end of its side ends a request that is shorter than it says.
      socket.end(bytes, () => random() < 0.1 && socket.destroy());
    });
  }

  const seen = new Map<number, number>();
  for (let sent = 0; sent < REQUESTS; sent += AT_ONCE) {
    const statuses = await Promise.all(Array.from({ length: AT_ONCE }, () => send(anyRequest())));
    for (const status of statuses.flat()) seen.set(status, (seen.get(status) ?? 0) + 1);
  }
  console.log(`fine-tuning abuse: ${JSON.stringify(Object.fromEntries(seen))}`);
  expect([...seen.keys()].filter((status) => status >= 500)).toEqual([]);
  expect(seen.get(200)).toBeGreaterThan(REQUESTS / 50);
  expect(server.errors).toEqual([]);
  const left = () =>
    readdirSync(join(project, ".kit", "files")).filter((name) => name.startsWith("."));
  await expect.poll(left).toEqual([]);
  expect((await fetch(`${server.url}/v1/files`)).status).toBe(200);
});
