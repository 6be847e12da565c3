import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createProject } from "../project.ts";
import { sayTo, startServe } from "../serveCommand.ts";
import { saveToolModel } from "../toolModel.ts";
import { classesOf, createAbuse, expectNoLeak, growthInWords } from "./abuseLoad.ts";
import { createMemoryProbe } from "./memoryProbe.ts";
import { createRandom } from "./random.ts";
import { type KnownRequest, type ServeCounts, createServeVisitor } from "./serveRequests.ts";
import { LONGER } from "./table.ts";

const REQUESTS = 2_000 * LONGER;
/** The first requests bring the process to its working size. */
const WARM_UP = REQUESTS / 4;
const KNOWN = 64;

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
    const common = { model: "talker", seed: n, temperature: 1.5 };
    const body = { ...common, messages, max_tokens: 12 };
    const asResponse = { ...common, input: messages, max_output_tokens: 12 };
    known.push({ body, asResponse, text: (await sayTo(serve, body)).text ?? "" });
  }
  expect(new Set(known.map(({ text }) => text)).size).toBe(KNOWN);

  const counts: ServeCounts = { requests: 0, byClass: {}, compared: 0, wrong: [] };
  const visit = createServeVisitor(serve.port, known, random);
  const abuse = createAbuse({ counts, visit, probe, pid: serve.child.pid });
  await abuse.until(WARM_UP);
  const before = await abuse.settle();
  await abuse.until(REQUESTS);
  const after = await abuse.settleTo(before);

  // Each place is free, and each answer is its own.
  const again = await Promise.all(known.map(({ body }) => sayTo(serve, body)));
  expect(again.map(({ text }) => text)).toEqual(known.map(({ text }) => text));
  const crashes = serve.child.exitCode === null ? 0 : 1;
  serve.child.kill("SIGTERM");
  await once(serve.child, "close");
  const { stdout, stderr } = await serve.ended;
  console.log(
    `kit serve abuse: ${counts.requests} requests, ${classesOf(counts)}, ${counts.compared} answers compared, ` +
      `${counts.wrong.length} wrong, ${crashes} crashes; ` +
      growthInWords(before, after),
  );
  expect({ crashes, stderr, wrong: counts.wrong }).toEqual({ crashes: 0, stderr: "", wrong: [] });
  expect(counts.byClass["5xx"] ?? 0).toBe(0);
  expect(counts.compared).toBeGreaterThan(REQUESTS / 10);
  expect(stdout).not.toContain("Number");
  expectNoLeak(before, after);
});
