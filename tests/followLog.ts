import { type FollowOptions, followFile } from "../disk/follow.ts";
import { type PlacedRecord, NEWLINE, createLineCutter, parseRecord } from "../jobs/log.ts";

/** The records from a byte offset on, as they are written. Lines that do not parse are skipped. */
export async function* followLog(
  path: string,
  options: FollowOptions,
): AsyncGenerator<PlacedRecord[]> {
  const cut = createLineCutter(options.from);
  for await (const chunk of followFile(path, options)) {
    const lines = cut(chunk);
    if (!lines) continue;
    const { bytes, offset } = lines;
    const records: PlacedRecord[] = [];
    for (let start = 0, end = 0; start < bytes.length; start = end) {
      end = bytes.indexOf(NEWLINE, start) + 1;
      const record = parseRecord(bytes.toString("utf8", start, end - 1));
      if (record) records.push({ record, offset: offset + end });
    }
    if (records.length > 0) yield records;
  }
}
