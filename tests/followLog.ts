import { type FollowOptions, tailFile } from "../disk/follow.ts";
import { type LocatedRecord, createLineSplitter, recordsIn } from "../jobs/log/lines.ts";

/** The records from a byte offset on, as they are written. Lines that do not parse are skipped. */
export async function* followLog(
  path: string,
  options: FollowOptions,
): AsyncGenerator<LocatedRecord[]> {
  const cut = createLineSplitter(options.from);
  for await (const chunk of tailFile(path, options)) {
    const lines = cut(chunk);
    const records = lines ? [...recordsIn(lines)] : [];
    if (records.length > 0) yield records;
  }
}
