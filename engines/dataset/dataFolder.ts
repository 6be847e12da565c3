import { readdirSync } from "node:fs";
import { join } from "node:path";

const DATA_FILE = /\.(arrow|(?:jsonl|csv|tsv|parquet|json)(?:\.gz)?)$/i;
/** Beside the data of `datasets`. */
const NO_DATA = /^(dataset_infos?|dataset_dict|state|config)\.json$/;

/** What to write in place of a folder's path, as a sentence; undefined without files of data in it. */
export function adviceForFolder(folder: string): string | undefined {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    const own = endingOf(entries.map(({ name }) => name));
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const inner = own ?? endingOf(folders.flatMap((name) => readdirSync(join(folder, name))));
    if (inner === undefined) return undefined;
    if (inner === "arrow") {
      return `Save its rows as Parquet: datasets.load_from_disk("${folder}").to_parquet("rows.parquet").`;
    }
    return `Name the files in it: ${join(folder, own ? "" : "**", `*.${inner}`)}.`;
  } catch {
    // The folder is the problem already, whatever else it has.
    return undefined;
  }
}

/** The ending that most files of data have. */
function endingOf(names: string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const name of names) {
    const ending = NO_DATA.test(name) ? undefined : DATA_FILE.exec(name)?.[1];
    if (ending !== undefined) counts.set(ending, (counts.get(ending) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0];
}
