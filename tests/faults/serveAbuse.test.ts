import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createProject } from "../project.ts";
import { sayTo, startServe } from "../serveCommand.ts";
import { saveToolModel } from "../toolModel.ts";
import { createMemoryProbe } from "./memoryProbe.ts";
import { createRandom } from "./random.ts";
import { type KnownRequest, type ServeCounts, createServeVisitor } from "./serveRequests.ts";
import { LONGER } from "./table.ts";

const REQUESTS = 2_000 * LONGER;
/** The first requests bring the process to its working size. */
const WARM_UP = REQUESTS / 4;
const AT_ONCE = 48;
const KNOWN = 64;
/** Heap after garbage collection; a leak of 1 kB a request would be 1.5 MiB in the short version. */
const MOST_HEAP_GROWTH_MIB = 2;
const MOST_GROWTH_MIB = 60;
const SETTLES = 20;

test("thousands of random, mutated, pipelined and aborted requests do no harm to kit serve, and none is answered with another's text", async () => {
  const random = createRandom();
  const project = createProject();
  saveToolModel(join(project, "talker"));
  const probe = createMemoryProbe();
  const serve = await startServe(project, ["talker", "--json"], probe.env);
  const known: KnownRequest[] = [];
  for (let n = 0; n < KNOWN; n++) {
    const messages = [{ role: "user", content: `Number ${n}` }];
    // Sampled, so that the answers differ.
    const body = { model: "talker", messages, seed: n, temperature: 1.5, max_tokens: 12 };
    known.push({ body, text: (await sayTo(serve, body)).text ?? "" });
  }
  expect(new Set(known.map(({ text }) => text)).size).toBe(KNOWN);

  const counts: ServeCounts = { requests: 0, byClass: {}, compared: 0, wrong: [] };
  const visit = createServeVisitor(serve.port, known, random);
  const visitUntil = (requests: number) =>
    Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (counts.requests < requests) await visit(counts);
      }),
    );
  const settle = async () => {
    // The server soon ends its work for clients that have left.
    await delay(500);
    return probe.measure(serve.child.pid ?? 0);
  };
  await visitUntil(WARM_UP);
  const before = await settle();
  await visitUntil(REQUESTS);
  let after = await settle();
  for (let n = 0; n < SETTLES && after.descriptors > before.descriptors; n++)
    after = await settle();

  // Each place is free, and each answer is its own.
  const again = await Promise.all(known.map(({ body }) => sayTo(serve, body)));
  expect(again.map(({ text }) => text)).toEqual(known.map(({ text }) => text));
  const crashes = serve.child.exitCode === null ? 0 : 1;
  serve.child.kill("SIGTERM");
  await once(serve.child, "close");
  const { stdout, stderr } = await serve.ended;
  const classes = Object.entries(counts.byClass)
    .sort()
    .map(([name, count]) => `${count} ${name}`);
  const whole = (figure: number) => Math.round(figure);
  console.log(
    `kit serve abuse: ${counts.requests} requests, ${classes.join(", ")}, ${counts.compared} answers compared, ` +
      `${counts.wrong.length} wrong, ${crashes} crashes; heap ${whole(before.heap)} to ` +
      `${whole(after.heap)} MiB, RSS ${whole(before.rss)} to ${whole(after.rss)} MiB`,
  );
  expect({ crashes, stderr, wrong: counts.wrong }).toEqual({ crashes: 0, stderr: "", wrong: [] });
  expect(counts.byClass["5xx"] ?? 0).toBe(0);
  expect(counts.compared).toBeGreaterThan(REQUESTS / 10);
  expect(stdout).not.toContain("Number");
  expect(after.heap - before.heap).toBeLessThan(MOST_HEAP_GROWTH_MIB);
  expect(after.rss - before.rss).toBeLessThan(MOST_GROWTH_MIB);
  expect(after.descriptors).toBeLessThanOrEqual(before.descriptors);
});
