import { formatCounted } from "../../protocol/format.ts";

/** How JSON.stringify writes half a surrogate pair, after the backslashes of others. */
const HALF = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g;

/** Mends texts that were cut within a character, which no text of UTF-8 has. */
export interface HalfCharacters {
  /** @param line JSON, as JSON.stringify writes it */
  mend: (line: string, where: string) => string;
  /** A line for people; undefined without any. */
  note: (dataset: string) => string | undefined;
}

export function createHalfCharacters(): HalfCharacters {
  let rows = 0;
  let first = "";
  return {
    mend(line, where) {
      if (!line.includes("\\ud")) return line;
      const mended = line.replaceAll(HALF, "$1\ufffd");
      if (mended !== line && rows++ === 0) first = where;
      return mended;
    },
    note: (dataset) =>
      rows === 0
        ? undefined
        : `warning: ${formatCounted(rows, "row")} of ${dataset} with half a character, as of an emoji that was cut, which is learned as U+FFFD (first: ${first}): cut texts between characters`,
  };
}
