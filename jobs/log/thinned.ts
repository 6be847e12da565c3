import { readSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import type { FollowOptions } from "../../disk/follow.ts";
import { openPlainIfThere } from "../../disk/sharedTail.ts";
import { type LossPoint, pixelEnds, thin } from "../../protocol/curve.ts";
import { bestOf } from "../../protocol/evaluation.ts";
import { EVALUATING } from "../../protocol/event.ts";
import { EVENT_LOG_LINES } from "../../protocol/http.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { FIRST_LOSSES } from "../../protocol/lossEnds.ts";
import { type PlacedRecord, createLineCutter, recordsIn } from "./lines.ts";

/** How much is parsed at once, before other work gets its turn. */
const CHUNK_BYTES = 256 * 1024;
const RECORDS_AT_ONCE = 64;

type Place = Omit<PlacedRecord, "record">;

/** A `training.log`; a number that it lacks is NaN. */
interface PlacedLog extends Place, LossPoint {
  evalLoss: number;
}

/**
 * Reads the records from a byte offset on that a page shows, as `HISTORY` in the protocol defines
 * them. Yields once all are known.
 */
export async function* readThinnedLog(
  path: string,
  { from = 0, signal }: Pick<FollowOptions, "from" | "signal">,
): AsyncGenerator<PlacedRecord[]> {
  const file = await openPlainIfThere(path);
  try {
    const places = file ? await findShown(file, from, signal) : [];
    for (let next = 0; file && next < places.length; next += RECORDS_AT_ONCE) {
      const records = places
        .slice(next, next + RECORDS_AT_ONCE)
        .flatMap((place) => readRecord(file, place));
      if (records.length > 0) yield records;
    }
  } finally {
    await file?.close();
  }
}

/** The places of the records to show, in the log's order. */
async function findShown(
  file: FileHandle,
  from: number,
  signal: AbortSignal | undefined,
): Promise<Place[]> {
  const others: Place[] = [];
  let asking: Place[] = [];
  const firstLogs: PlacedLog[] = [];
  let lastLogs: PlacedLog[] = [];
  let curve: readonly PlacedLog[] = [];
  let evaluated: PlacedLog[] = [];
  for await (const records of recordsOf(file, from, signal)) {
    const logs: PlacedLog[] = [];
    for (const placed of records) {
      const place = { from: placed.from, offset: placed.offset };
      if (placed.record.event === "training.log") logs.push(asLog(placed));
      // The first says when the job began.
      else if (placed.record.event === EVALUATING) asking = [...asking.slice(0, 1), place];
      else others.push(place);
    }
    // Even a log without a loss, which is not on the curve, shows that there was one.
    firstLogs.push(...logs.slice(0, FIRST_LOSSES - firstLogs.length));
    lastLogs = lastLogs.concat(logs.slice(-EVENT_LOG_LINES)).slice(-EVENT_LOG_LINES);
    evaluated = bestAndLast([...evaluated, ...logs]);
    curve = thin(curve.concat(logs.filter(({ step, loss }) => isFinite(step) && isFinite(loss))));
  }
  const shown = new Map(
    [...others, ...asking, ...firstLogs, ...pixelEnds(curve), ...evaluated, ...lastLogs].map(
      (at) => [at.from, at],
    ),
  );
  return [...shown.values()].sort((a, b) => a.from - b.from);
}

/** The best and the last evaluation, which the page shows. */
function bestAndLast(logs: PlacedLog[]): PlacedLog[] {
  const evaluated = logs.filter(({ evalLoss }) => Number.isFinite(evalLoss));
  const best = bestOf(evaluated);
  return [...(best ? [best] : []), ...evaluated.slice(-1)];
}

function asLog({ record: { data }, from, offset }: PlacedRecord): PlacedLog {
  const found = isRecord(data) ? data : {};
  const number = (name: string) => {
    const value = found[name];
    return typeof value === "number" ? value : NaN;
  };
  return { from, offset, step: number("step"), loss: number("loss"), evalLoss: number("evalLoss") };
}

async function* recordsOf(
  file: FileHandle,
  from: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<PlacedRecord[]> {
  const { size } = await file.stat();
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const cut = createLineCutter(from);
  for (let position = from; position < size && !signal?.aborted;) {
    const most = Math.min(CHUNK_BYTES, size - position);
    const { bytesRead } = await file.read(chunk, 0, most, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    const lines = cut(chunk.subarray(0, bytesRead));
    if (lines) yield [...recordsIn(lines)];
  }
}

function readRecord(file: FileHandle, { from, offset }: Place): PlacedRecord[] {
  const line = Buffer.allocUnsafe(offset - from);
  const length = readSync(file.fd, line, 0, line.length, from);
  return [...recordsIn({ bytes: line.subarray(0, length), offset: from })];
}
