import { readSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import type { FollowOptions } from "../../disk/follow.ts";
import { openRegularIfExists } from "../../disk/sharedTail.ts";
import { type LossPoint, pixelExtremes, thin } from "../../protocol/curve.ts";
import { heldOutValues } from "../../protocol/evaluation.ts";
import { EVALUATING, PREPARING } from "../../protocol/event.ts";
import { logsForHistories } from "../../protocol/history.ts";
import { EVENT_LOG_LINES } from "../../protocol/http.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { FIRST_LOSSES } from "../../protocol/lossEnds.ts";
import { type LocatedRecord, createLineSplitter, recordsIn } from "./lines.ts";

/** How much is parsed before yielding to other work. */
const CHUNK_BYTES = 256 * 1024;
const BATCH_RECORDS = 64;

type Location = Omit<LocatedRecord, "record">;

/** A `training.log` event; missing numbers are NaN. */
interface LocatedLog extends Location, LossPoint {
  values: Record<string, number>;
}

/**
 * Reads the records that a page shows, from a byte offset on, as the protocol's `HISTORY` defines them.
 * Scans the whole log before the first yield.
 */
export async function* readThinnedLog(
  path: string,
  { from = 0, signal }: Pick<FollowOptions, "from" | "signal">,
): AsyncGenerator<LocatedRecord[]> {
  const file = await openRegularIfExists(path);
  try {
    const locations = file ? await findShown(file, from, signal) : [];
    for (let next = 0; file && next < locations.length; next += BATCH_RECORDS) {
      const records = locations
        .slice(next, next + BATCH_RECORDS)
        .flatMap((location) => readRecord(file, location));
      if (records.length > 0) yield records;
    }
  } finally {
    await file?.close();
  }
}

/** The locations of the records to show, in log order. */
async function findShown(
  file: FileHandle,
  from: number,
  signal: AbortSignal | undefined,
): Promise<Location[]> {
  const others: Location[] = [];
  let evaluating: Location[] = [];
  let preparing: Location[] = [];
  const firstLogs: LocatedLog[] = [];
  let lastLogs: LocatedLog[] = [];
  let curve: readonly LocatedLog[] = [];
  let evaluated: LocatedLog[] = [];
  for await (const records of recordsOf(file, from, signal)) {
    const logs: LocatedLog[] = [];
    for (const located of records) {
      const location = { start: located.start, end: located.end };
      if (located.record.event === "training.log") logs.push(asLog(located));
      // Keep the first, for the start time, and the latest.
      else if (located.record.event === EVALUATING)
        evaluating = [...evaluating.slice(0, 1), location];
      else if (located.record.event === PREPARING) preparing = [...preparing.slice(0, 1), location];
      else others.push(location);
    }
    // These include logs without a loss; the curve doesn't.
    firstLogs.push(...logs.slice(0, FIRST_LOSSES - firstLogs.length));
    lastLogs = lastLogs.concat(logs.slice(-EVENT_LOG_LINES)).slice(-EVENT_LOG_LINES);
    evaluated = logsForHistories([...evaluated, ...logs]);
    curve = thin(curve.concat(logs.filter(({ step, loss }) => isFinite(step) && isFinite(loss))));
  }
  const shown = new Map(
    [
      ...others,
      ...evaluating,
      ...preparing,
      ...firstLogs,
      ...pixelExtremes(curve),
      ...evaluated,
      ...lastLogs,
    ].map((location) => [location.start, location]),
  );
  return [...shown.values()].sort((a, b) => a.start - b.start);
}

function asLog({ record: { data }, start, end }: LocatedRecord): LocatedLog {
  const found = isRecord(data) ? data : {};
  const number = (name: string) => {
    const value = found[name];
    return typeof value === "number" ? value : NaN;
  };
  const values = heldOutValues(data);
  return { start, end, step: number("step"), loss: number("loss"), values };
}

async function* recordsOf(
  file: FileHandle,
  from: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<LocatedRecord[]> {
  const { size } = await file.stat();
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const splitLines = createLineSplitter(from);
  for (let position = from; position < size && !signal?.aborted;) {
    const length = Math.min(CHUNK_BYTES, size - position);
    const { bytesRead } = await file.read(chunk, 0, length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    const lines = splitLines(chunk.subarray(0, bytesRead));
    if (lines) yield [...recordsIn(lines)];
  }
}

function readRecord(file: FileHandle, { start, end }: Location): LocatedRecord[] {
  const line = Buffer.allocUnsafe(end - start);
  const length = readSync(file.fd, line, 0, line.length, start);
  return [...recordsIn({ bytes: line.subarray(0, length), offset: start })];
}
