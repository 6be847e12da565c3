import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, get } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createJobStore } from "../../jobs/store.ts";
import { type KitUi, startKitUi } from "../e2e/kitUi.ts";
import { COMPLETED, CONFIG, STARTED, createJob, logOf, logged } from "../jobs.ts";
import { startNginx } from "../nginx.ts";
import { disableWatch } from "../noWatch.ts";
import { spawnModule } from "../process.ts";
import { createProject } from "../project.ts";
import { type Frame, openGate, parseFrames, standIn, startServer } from "../uiServer.ts";
import { createRandom } from "./random.ts";
import { LONGER, repeated, reportFault } from "./table.ts";

/** The frames that the log's records should become. */
function framesOf(log: string): Frame[] {
  let end = 0;
  const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    end += Buffer.byteLength(line) + 1;
    const { event, data } = JSON.parse(line) as { event: string; data: object };
    return { id: String(end), event, data: JSON.stringify(data) };
  });
}

/** How often a frame is missing, and how often one is there again or out of order. */
function compare(seen: Frame[], wanted: Frame[]): { lost: number; doubled: number } {
  const counts = new Map<string, number>();
  for (const frame of seen) {
    const key = JSON.stringify(frame);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const lost = wanted.filter((frame) => !counts.has(JSON.stringify(frame))).length;
  const isSorted = seen.every(({ id }, n) => n === 0 || Number(id) > Number(seen[n - 1]?.id));
  return { lost, doubled: seen.length - counts.size + (isSorted ? 0 : 1) };
}

/** A process that appends events of many sizes to a job of its own, until `end` is called. */
async function startWriter(project: string, seed: number) {
  const writer = spawnModule(
    `const { createOwnedJob } = await dist("jobs/ownedJob.js");
     const [project, config, seed] = process.argv.slice(1);
     const job = createOwnedJob(project, "written", JSON.parse(config));
     job.append(${JSON.stringify(STARTED)});
     console.log(job.job.id);
     let step = 0;
     const timer = setInterval(() => {
       for (let n = 0; n < 10; n++) {
         step++;
         const size = (step * Number(seed)) % 97 === 0 ? 10_000 : (step * Number(seed)) % 60;
         job.append({ event: "training.log", data: { step, loss: 1 / step, note: "é🤖".repeat(size) } });
       }
     }, 10);
     process.stdin.once("data", () => {
       clearInterval(timer);
       job.append(${JSON.stringify(COMPLETED)});
       process.exit();
     });`,
    [project, JSON.stringify(CONFIG), String(seed)],
  );
  const id = await writer.line();
  return {
    id,
    log: createJobStore(project).logPath(id),
    end: () => writer.child.stdin?.write("\n"),
  };
}

/** Keeps what it has seen over connections that are cut, as an `EventSource` does. */
function createClient() {
  const seen: Frame[] = [];
  let lastEventId: string | undefined;
  let hasEnded = false;
  return {
    seen,
    hasEnded: () => hasEnded,
    /** Connects, reads this many bytes of the body at most, and tears the connection down. */
    async read(url: string, most: number): Promise<number> {
      const headers = lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId };
      const asked = get(url, { agent: false, headers });
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      const chunks: Buffer[] = [];
      let size = 0;
      try {
        for await (const chunk of response) {
          chunks.push(chunk as Buffer);
          size += (chunk as Buffer).length;
          if (size >= most) break;
        }
      } finally {
        asked.destroy();
      }
      for (const frame of parseFrames(Buffer.concat(chunks).subarray(0, most).toString())) {
        lastEventId = frame.id ?? lastEventId;
        if (frame.event === "end") hasEnded = true;
        else seen.push(frame);
      }
      return response.statusCode ?? 0;
    },
  };
}

test("cutting the connection at random bytes and killing kit ui loses and doubles no event", async () => {
  const CUTS = repeated(500);
  const CUTS_A_SERVER = Math.min(CUTS / 4, 125);
  const MOST_BYTES = 6_000;
  const random = createRandom();
  const project = createProject();
  const { id, log, end } = await startWriter(project, 1 + Math.trunc(random() * 1_000));
  let server: KitUi = await startKitUi(project);
  const url = `http://127.0.0.1:${server.port}/api/jobs/${id}/events`;
  const client = createClient();
  for (let cut = 1; cut <= CUTS; cut++) {
    await client.read(url, Math.trunc(random() * MOST_BYTES));
    if (cut % CUTS_A_SERVER !== 0 || cut === CUTS) continue;
    server.process.kill("SIGKILL");
    await once(server.process, "exit");
    server = await startKitUi(project, server.port);
  }
  expect(client.hasEnded()).toBe(false);
  end();
  while (!client.hasEnded()) await client.read(url, Infinity);

  const wanted = framesOf(log);
  expect(wanted.length).toBeGreaterThan(CUTS / 4);
  const { lost, doubled } = compare(client.seen, wanted);
  const status = await client.read(url, Infinity);
  reportFault({
    fault: "Event stream cut at a random byte, `kit ui` killed at times",
    times: CUTS,
    lost,
    doubled,
    wrongStatus: status === 204 ? 0 : 1,
  });
  expect(client.seen).toEqual(wanted);
  expect({ lost, doubled, status }).toEqual({ lost: 0, doubled: 0, status: 204 });
});

test("a reconnection with any id gets exactly the rest of the log, or all of it", async () => {
  const random = createRandom();
  const { url, project } = await startServer();
  const events = Array.from({ length: 40 }, (_, n) => logged(n + 1));
  const job = createJob(project, "job", [STARTED, ...events, COMPLETED]);
  const wanted = framesOf(logOf(job));
  const size = Number(wanted.at(-1)?.id);
  const ends = wanted.slice(0, -1).map(({ id }) => id ?? "");
  const [, end = 0] = ends.map(Number);
  const strange = [
    ...["", "-1", "7.5", "1e2", "0x10", "NaN", "null", "9".repeat(15), "9".repeat(400), "%00"],
    ...["../../log", "training.log", `${end}.0`, `${end}e0`, `+${end}`, `0x${end.toString(16)}`],
    ...[String(end - 1), String(end + 1)],
  ];
  const inside = Array.from({ length: 50 * LONGER }, () =>
    String(Math.trunc(random() * size * 1.2)),
  );
  const ids = [...strange, ...ends, ...inside.filter((id) => id !== String(size))];
  const total = { lost: 0, doubled: 0 };
  for (const id of ids) {
    const asked = await fetch(`${url}api/jobs/${job.job.id}/events`, {
      headers: { "Last-Event-ID": id },
    });
    const seen = parseFrames(await asked.text()).filter(({ event }) => event !== "end");
    const rest = ends.includes(id)
      ? wanted.filter((frame) => Number(frame.id) > Number(id))
      : wanted;
    const { lost, doubled } = compare(seen, rest);
    total.lost += lost;
    total.doubled += doubled;
    expect(seen, id).toEqual(rest);
  }
  reportFault({
    fault: "Reconnection with an invalid, stale or hostile id",
    times: ids.length,
    ...total,
    wrongStatus: 0,
  });
});

/** Reads a body until it holds enough. */
async function readUntil(response: IncomingMessage, isEnough: (text: string) => boolean) {
  let text = "";
  while (!isEnough(text)) {
    const chunk = response.read() as Buffer | null;
    if (chunk) text += chunk.toString();
    else await once(response, "readable");
  }
  return text;
}

test("nginx passes on each event, and each piece of a run's output, as it is written", async () => {
  const EVENTS = repeated(50);
  const project = createProject();
  const kit = standIn(
    project,
    `for (let n = 0; n < ${EVENTS}; n++) { writeSync(1, n + "\\n"); await gate("read-" + n); }`,
  );
  const { port } = await startServer({ project, kit });
  const ask = await startNginx(port);
  const job = createJob(project);

  const stream = await ask(`/api/jobs/${job.job.id}/events`);
  expect(stream.statusCode).toBe(200);
  await readUntil(stream, (text) => text.includes("retry"));
  let arrived = 0;
  for (let n = 1; n <= EVENTS; n++) {
    // The next is not written before this one has come.
    job.append(logged(n));
    const text = await readUntil(stream, (text) => text.includes("\n\n"));
    arrived += parseFrames(text).length;
  }
  expect(arrived).toBe(EVENTS);

  const output = await ask("/api/train", "POST");
  for (let n = 0; n < EVENTS; n++) {
    expect(await readUntil(output, (text) => text.endsWith("\n"))).toBe(`${n}\n`);
    openGate(project, `read-${n}`);
  }
  reportFault({
    fault: "Events and output through nginx with Debian's settings",
    times: 2 * EVENTS,
    lost: EVENTS - arrived,
    doubled: 0,
    wrongStatus: 0,
  });
});

test("where the system reports no changes of files, events arrive all the same", async () => {
  const EVENTS = 15 * LONGER;
  const random = createRandom();
  const watch = disableWatch();
  const { url, project } = await startServer();
  const job = createJob(project);
  const asked = get(`${url}api/jobs/${job.job.id}/events`, { agent: false });
  onTestFinished(() => void asked.destroy());
  const [stream] = (await once(asked, "response")) as [IncomingMessage];
  await readUntil(stream, (text) => text.includes("retry"));
  for (let n = 1; n <= EVENTS; n++) {
    // So that the writes meet the poll at all its moments.
    await new Promise((resolve) => setTimeout(resolve, random() * 100));
    job.append(logged(n));
    await readUntil(stream, (text) => text.includes("\n\n"));
  }
  expect(watch).toHaveBeenCalled();
  reportFault({
    fault: "`fs.watch` reports nothing",
    times: EVENTS,
    lost: 0,
    doubled: 0,
    wrongStatus: 0,
  });
});
