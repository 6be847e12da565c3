import { execFileSync } from "node:child_process";
import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { LocatedRecord } from "../../../jobs/log/lines.ts";
import { findNewest, isRecordBoundary, readLog } from "../../../jobs/log/read.ts";
import { openLog } from "../../../jobs/log/write.ts";
import { followLog } from "../../followLog.ts";
import { COMPLETED, STARTED, appendRaw, createJob, logOf, logged, recordEnds } from "../../jobs.ts";
import { disableWatch } from "../../noWatch.ts";
import { spawnModule } from "../../process.ts";
import { createProject } from "../../project.ts";

function logFile(): string {
  return join(createProject(), "events.ndjson");
}

async function collect(batches: AsyncIterable<LocatedRecord[]>): Promise<LocatedRecord[]> {
  const records: LocatedRecord[] = [];
  for await (const batch of batches) records.push(...batch);
  return records;
}

/** The records of a finished log from an offset on. */
async function readAll(path: string, from = 0): Promise<LocatedRecord[]> {
  return collect(followLog(path, { from, ended: () => true }));
}

async function readSteps(path: string, from = 0): Promise<unknown[]> {
  return (await readAll(path, from)).map(({ record }) => (record.data as { step: number }).step);
}

/** The events at a log's end, newest first. */
function newestOf(path: string): string[] {
  const events: string[] = [];
  findNewest(path, ({ event }) => void events.push(event));
  return events;
}

test("each event is one line of JSON with its name, time and data", () => {
  const path = logFile();
  const log = openLog(path);
  log.append(STARTED);
  log.append(logged(1, 0.5));
  const lines = readFileSync(path, "utf8").split("\n");
  expect(lines).toHaveLength(3);
  expect(lines[2]).toBe("");
  const record = JSON.parse(lines[1] ?? "") as { time: string };
  expect(record).toEqual({
    event: "training.log",
    time: expect.any(String),
    data: { step: 1, loss: 0.5 },
  });
  expect(new Date(record.time).toISOString()).toBe(record.time);
  log.close();
});

test("an event that holds newlines is still one line", async () => {
  const path = logFile();
  const log = openLog(path);
  log.append({ event: "training.failed", data: { error: "one\ntwo\r\nthree\u2028four" } });
  log.close();
  expect(recordEnds(path)).toHaveLength(1);
  expect((await readAll(path))[0]?.record.data).toEqual({ error: "one\ntwo\r\nthree\u2028four" });
});

test.each([NaN, Infinity, -Infinity])("a loss of %d is written as null", async (loss) => {
  const path = logFile();
  const log = openLog(path);
  log.append(logged(1, loss));
  log.close();
  expect((await readAll(path))[0]?.record.data).toEqual({ step: 1, loss: null });
});

test("a torn last line is closed off by the next writer, and the rest is read", async () => {
  const path = logFile();
  writeFileSync(
    path,
    '{"event":"training.log","time":"t","data":{"step":1}}\n{"event":"training.l',
  );
  const log = openLog(path);
  log.append(logged(2));
  log.append(logged(3));
  log.close();
  expect(await readSteps(path)).toEqual([1, 2, 3]);
  expect(recordEnds(path)).toHaveLength(4);
});

test("a log that ended whole gets no empty line from the next writer", () => {
  const path = logFile();
  for (const step of [1, 2]) {
    const log = openLog(path);
    log.append(logged(step));
    log.close();
  }
  expect(recordEnds(path)).toHaveLength(2);
});

test("a closed log takes no event, and closing it again does nothing", () => {
  const path = logFile();
  const log = openLog(path);
  log.close();
  log.close();
  expect(() => log.append(STARTED)).toThrow(expect.objectContaining({ code: "LOG_CLOSED" }));
  expect(readFileSync(path, "utf8")).toBe("");
});

test("an event that is written in part is an error, and the next is on a line of its own", async () => {
  const path = logFile();
  const writer = spawnModule(
    `const { openLog } = await dist("jobs/log/write.js");
     const log = openLog(process.argv[1]);
     const append = (step, text) => log.append({ event: "training.log", data: { step, text } });
     append(1, "");
     try {
       append(2, "x".repeat(2_000));
     } catch (error) {
       console.log(error.code);
     }
     process.stdin.once("data", () => {
       append(3, "");
       console.log("done");
     });`,
    [path],
    // Files of at most 512 bytes: as a full disk does, the system takes a part of a write.
    "trap '' XFSZ; ulimit -S -f 1",
  );
  expect(await writer.line()).toBe("CANNOT_WRITE");
  expect(readFileSync(path)).toHaveLength(512);
  execFileSync("prlimit", ["--pid", String(writer.pid), "--fsize=unlimited"]);
  writer.child.stdin?.write("\n");
  expect(await writer.line()).toBe("done");
  expect(await readSteps(path)).toEqual([1, 3]);
});

test("invalid lines are skipped", async () => {
  const path = logFile();
  const junk = ["", "junk", "null", "[]", "7", '"text"', '{"event":7}', "\0\0", '{"data":{}}'];
  const good = JSON.stringify({ event: "training.log", time: "t", data: { step: 1 } });
  writeFileSync(path, [...junk, good, ...junk, good, ""].join("\n"));
  expect(await readSteps(path)).toEqual([1, 1]);
  expect(newestOf(path)).toHaveLength(2);
});

test("a record's offset is after its newline, and reading resumes there", async () => {
  const path = logFile();
  const log = openLog(path);
  for (let step = 1; step <= 5; step++) log.append(logged(step));
  log.close();
  const offsets = (await readAll(path)).map(({ end }) => end);
  expect(offsets).toEqual(recordEnds(path));
  expect(await readSteps(path, offsets[2])).toEqual([4, 5]);
  expect((await readAll(path, offsets[2])).map(({ end }) => end)).toEqual(offsets.slice(3));
});

test("offsets count bytes, even after junk and letters of several bytes", async () => {
  const path = logFile();
  writeFileSync(path, "jünk 🤖\n");
  const log = openLog(path);
  log.append({ event: "training.failed", data: { error: "größer 🤖" } });
  log.close();
  expect((await readAll(path)).map(({ end }) => end)).toEqual(recordEnds(path).slice(1));
});

test("a log of many chunks is read whole, letters across chunks included", async () => {
  const path = logFile();
  const log = openLog(path);
  const errors = Array.from({ length: 40 }, (_, n) => `${n}${"🤖é".repeat(2_000)}`);
  for (const error of errors) log.append({ event: "training.failed", data: { error } });
  log.close();
  const found = (await readAll(path)).map(({ record }) => (record.data as { error: string }).error);
  expect(found).toEqual(errors);
});

test("half a line, cut inside a letter, is held back until the rest is written", async () => {
  disableWatch();
  const path = logFile();
  const line = Buffer.from(`${JSON.stringify({ event: "x", time: "t", data: "é🤖" })}\n`);
  const cut = line.indexOf(Buffer.from("🤖")) + 2;
  writeFileSync(path, line.subarray(0, cut));
  let asked = 0;
  // Each question comes before a reading of the file; after the first, the half has been read.
  const ended = () => {
    if (asked++ === 1) appendFileSync(path, line.subarray(cut));
    return asked > 2;
  };
  const records = await collect(followLog(path, { ended }));
  expect(records.map(({ record }) => record.data)).toEqual(["é🤖"]);
});

test("a log that is not there yet is awaited", async () => {
  const path = logFile();
  let asked = 0;
  const ended = () => {
    if (asked++ === 1) {
      const log = openLog(path);
      log.append(logged(1));
      log.close();
    }
    return asked > 2;
  };
  const records = await collect(followLog(path, { ended }));
  expect(records).toHaveLength(1);
});

test("a short log is searched from its end, without the line that is being written", () => {
  const path = logFile();
  const log = openLog(path);
  log.append(STARTED);
  log.append(COMPLETED);
  log.close();
  appendFileSync(path, '{"event":"training.failed","time":"t","data":{}}');
  expect(newestOf(path)).toEqual([COMPLETED.event, STARTED.event]);
});

test("a log that is missing, or no file, has no end", () => {
  for (const path of [logFile(), createProject()]) expect(findNewest(path, String)).toBeUndefined();
});

test("reading can begin at the start and after each newline, and nowhere else", () => {
  const path = logFile();
  const log = openLog(path);
  log.append(STARTED);
  log.append(COMPLETED);
  log.close();
  const { length } = readFileSync(path);
  const offsets = Array.from({ length: length + 3 }, (_, offset) => offset);
  const boundaries = offsets.filter((offset) => isRecordBoundary(path, offset));
  expect(boundaries).toEqual([0, ...recordEnds(path)]);
  expect(isRecordBoundary(path, Number.MAX_SAFE_INTEGER)).toBe(false);
});

test("a record that is too long is refused, and the log goes on", () => {
  const path = logFile();
  const log = openLog(path);
  log.append(STARTED);
  const error = "x".repeat(64 * 1024);
  expect(() => log.append({ event: "training.failed", data: { error } })).toThrow(
    `Cannot write ${path}: a record of training.failed would take 65 KiB, and takes 64 at most. Have the engine report less.`,
  );
  log.append(COMPLETED);
  log.close();
  expect(newestOf(path)).toEqual(["training.completed", "training.started"]);
});

test("a search from the end meets each record once, of lines that its reads cut and of those alone", () => {
  const path = logFile();
  const log = openLog(path);
  const texts = [10, 20_000, 10, 60_000, 30, 20, 50_000, 40_000, 10];
  texts.forEach((length, n) =>
    log.append({ event: "training.failed", data: { error: `${n} ${"é".repeat(length / 2)}` } }),
  );
  log.close();
  const seen: number[] = [];
  findNewest(path, ({ data }) => void seen.push(parseInt((data as { error: string }).error)));
  expect(seen).toEqual([...texts.keys()].toReversed());
});

test("a log longer than Node reads at once is read to its end", () => {
  const job = createJob(createProject(), "long", [STARTED, logged(1)]);
  // A hole in the file, which is no record and takes no room.
  truncateSync(logOf(job), statSync(logOf(job)).size + 2 ** 31);
  appendRaw(job, "\n");
  job.append(logged(2));
  const events = [...readLog(job.directory)].map(({ event }) => event);
  expect(events).toEqual(["training.started", "training.log", "training.log"]);
});

test("a log that can't be opened is an error, and not a log without records", async () => {
  const { directory } = createJob(createProject(), "some", [STARTED, logged(1)]);
  const reader = spawnModule(
    `const { openSync } = await import("node:fs");
     const { readLog } = await dist("jobs/log/read.js");
     try { for (;;) openSync("/dev/null"); } catch {}
     try { console.log([...readLog(process.argv[1])].length); }
     catch ({ code, message }) { console.log(code, message); }`,
    [directory],
    "ulimit -n 64",
  );
  expect(await reader.line()).toMatch(
    /^CANNOT_READ Cannot read \S+events\.ndjson: EMFILE: .*\. Make it readable\.$/,
  );
});

test("a job without a log has no records", () => {
  expect([...readLog(createProject())]).toEqual([]);
});
