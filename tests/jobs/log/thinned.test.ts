import { appendFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { LocatedRecord } from "../../../jobs/log/lines.ts";
import { readThinnedLog } from "../../../jobs/log/thinned.ts";
import { openLog } from "../../../jobs/log/write.ts";
import { type Progress, NO_PROGRESS, reduceProgress } from "../../../protocol/progress.ts";
import { factsOf } from "../../../src/job/facts.ts";
import { lossPath } from "../../../src/job/lossPath.ts";
import { createRandom } from "../../faults/random.ts";
import { STARTED, logged, recordEnds } from "../../jobs.ts";
import { createProject } from "../../project.ts";

type Data = { step?: unknown; loss?: unknown };

function logFile(lines: string[]): string {
  const path = join(createProject(), "events.ndjson");
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
  return path;
}

function line(event: string, data: unknown): string {
  return JSON.stringify({ event, time: "2026-03-07T12:34:56.000Z", data });
}

async function readThinned(path: string, from = 0): Promise<LocatedRecord[]> {
  const records: LocatedRecord[] = [];
  for await (const batch of readThinnedLog(path, { from })) {
    records.push(...batch);
  }
  return records;
}

function dataOf(records: LocatedRecord[]): Data[] {
  return records.map(({ record }) => record.data as Data);
}

/** Drawn as the page draws it. */
function drawn(data: Data[]): string {
  const points = data.filter(({ step, loss }) => Number.isFinite(step) && Number.isFinite(loss));
  return lossPath(points as { step: number; loss: number }[]);
}

test("the thinned log's curve is the whole log's, however its lines are written", async () => {
  const random = createRandom();
  let step = 0;
  const all = Array.from({ length: 25_000 }, (): Data => {
    const chance = random();
    step += chance < 0.001 ? -Math.floor(random() * 3_000) : chance < 0.1 ? 0 : 1;
    const loss = chance > 0.99 ? null : chance > 0.98 ? undefined : random() ** 5 * 10;
    return { step: chance > 0.97 && chance < 0.98 ? undefined : step, loss };
  });
  const lines = all.map((data, index) => {
    if (index % 3 === 0) return line("training.log", { ...data, learningRate: 1e-7, epoch: 0.5 });
    if (index % 3 === 1) return line("training.log", { note: '"step":1,"loss":9e9 é🤖', ...data });
    return `{ "data": ${JSON.stringify(data)}, "event": "training.log" }`;
  });
  const records = await readThinned(logFile(lines));
  expect(records.length).toBeLessThan(10_000);
  expect(drawn(dataOf(records))).toBe(drawn(all));
});

test("a spike of one step among 200,000 is there, and so are the first and the last", async () => {
  const spike = 165_432;
  const lines = Array.from({ length: 200_000 }, (_, index) => {
    const step = index + 1;
    const loss = step === spike ? 50 : 1 + (step % 97) / 100;
    return `{"event":"training.log","time":"","data":{"step":${step},"loss":${loss}}}`;
  });
  const data = dataOf(await readThinned(logFile(lines)));
  expect(data.length).toBeLessThanOrEqual(640 * 4 + 4 + 50);
  expect(data).toContainEqual({ step: spike, loss: 50 });
  expect(data[0]).toEqual({ step: 1, loss: 1.01 });
  expect(data.at(-1)).toEqual({ step: 200_000, loss: 1.83 });
});

test("all events but logs stay whole, and so do the last 50 logs", async () => {
  const lines = Array.from({ length: 20_000 }, (_, step) =>
    step % 1_000 === 500
      ? line("checkpoint.saved", { step, path: "größer 🤖" })
      : line("training.log", { step, loss: 1 }),
  );
  lines.unshift(line("training.started", { rows: 2 }));
  lines.push(line("training.completed", { artifacts: [] }));
  const records = await readThinned(logFile(lines));
  const others = records.filter(({ record }) => record.event !== "training.log");
  expect(others.map(({ record }) => record.event)).toEqual([
    "training.started",
    ...Array<string>(20).fill("checkpoint.saved"),
    "training.completed",
  ]);
  expect(others[1]!.record.data).toEqual({ step: 500, path: "größer 🤖" });
  expect(dataOf(records).slice(-51, -1)).toEqual(
    Array.from({ length: 50 }, (_, index) => ({ step: 19_950 + index, loss: 1 })),
  );
});

test("held-out metrics develop as in the whole log", async () => {
  const random = createRandom();
  const logs = Array.from({ length: 5_000 }, (_, step) => {
    const [evalLoss, evalKl, evalRewardsMargins, evalOwn] = Array.from({ length: 4 }, random);
    const metrics = { evalKl, evalRewardsMargins, ...(step % 300 > 200 && { evalOwn }) };
    return { step, ...(step % 7 === 0 && { evalLoss, metrics }) };
  });
  const waysOf = (all: object[]) =>
    factsOf(
      all.reduce<Progress>(
        (progress, data) => reduceProgress(progress, { event: "training.log", data, at: NaN }),
        NO_PROGRESS,
      ),
      "completed",
    ).filter(({ isLong }) => isLong);
  const thinned = dataOf(
    await readThinned(logFile(logs.map((data) => line("training.log", data)))),
  );
  expect(thinned.length).toBeLessThan(100);
  expect(waysOf(logs)).toHaveLength(4);
  expect(waysOf(thinned)).toEqual(waysOf(logs));
});

test("of how far asking the model was, the first and the last are there", async () => {
  const asking = (answered: number) => line("checkpoint.evaluating", { step: 0, answered });
  const lines = [1, 2, 3].map(asking);
  lines.splice(2, 0, line("training.started", {}));
  const records = await readThinned(logFile(lines));
  expect(records.map(({ record }) => record.event)).toEqual([
    ...["checkpoint.evaluating", "training.started", "checkpoint.evaluating"],
  ]);
  expect(dataOf(records).at(-1)).toMatchObject({ answered: 3 });
});

test("logs without a loss are not on the curve, but the first show that there were some", async () => {
  const lines = Array.from({ length: 5_000 }, (_, step) => line("training.log", { step }));
  const records = await readThinned(logFile(lines));
  expect(dataOf(records)).toEqual(
    [0, 1, ...Array.from({ length: 50 }, (_, index) => 4_950 + index)].map((step) => ({ step })),
  );
});

test("invalid lines and an unfinished last line are skipped", async () => {
  const good = line("training.log", { step: 1, loss: 1 });
  const bad = [good.slice(0, -1), good.slice(0, -9), "junk", "", "null", good.repeat(2)];
  const path = logFile([...bad, good, ...bad]);
  writeFileSync(path, good, { flag: "a" });
  expect(dataOf(await readThinned(path))).toEqual([{ step: 1, loss: 1 }]);
});

test("offsets are after the records' newlines, even after lines of several chunks", async () => {
  const long = line("training.failed", { error: "é".repeat(400_000) });
  const lines = [STARTED, logged(1), logged(2)].map(({ event, data }) => line(event, data));
  const path = logFile([lines[0]!, long, lines[1]!, long, lines[2]!]);
  const ends = recordEnds(path);
  expect((await readThinned(path)).map(({ end }) => end)).toEqual(ends);
  expect((await readThinned(path, ends[1])).map(({ end }) => end)).toEqual(ends.slice(2));
});

test("a line of 600 MB is skipped", async () => {
  const path = logFile([line("training.log", { step: 1, loss: 1 })]);
  truncateSync(path, 6e8);
  appendFileSync(path, `\n${line("training.log", { step: 2, loss: 1 })}\n`);
  const records = await readThinned(path);
  expect(dataOf(records)).toEqual([1, 2].map((step) => ({ step, loss: 1 })));
  expect(records.at(-1)?.end).toBe(statSync(path).size);
});

test("a missing log has no records, and an aborted reader gets none", async () => {
  const path = join(createProject(), "events.ndjson");
  expect(await readThinned(path)).toEqual([]);
  const log = openLog(path);
  log.append(STARTED);
  log.close();
  const gone = readThinnedLog(path, { signal: AbortSignal.abort() });
  expect((await gone.next()).done).toBe(true);
});
