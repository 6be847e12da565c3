import { formatCounted } from "../../protocol/format.ts";

/** How JSON.stringify escapes a lone surrogate, after an even number of backslashes. */
const LONE_SURROGATE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g;

/** Replaces lone surrogates, as of text truncated within a character, by U+FFFD. */
export interface LoneSurrogates {
  /** @param line JSON, as JSON.stringify writes it */
  replace: (line: string, where: string) => string;
  /** A note for people; undefined without any. */
  note: (dataset: string) => string | undefined;
}

export function createLoneSurrogates(): LoneSurrogates {
  let rows = 0;
  let first = "";
  return {
    replace(line, where) {
      if (!line.includes("\\ud")) return line;
      const replaced = line.replaceAll(LONE_SURROGATE, "$1\ufffd");
      if (replaced !== line && rows++ === 0) first = where;
      return replaced;
    },
    note: (dataset) =>
      rows === 0
        ? undefined
        : `warning: ${formatCounted(rows, "row")} of ${dataset} with half a character, such as a truncated emoji, which is learned as U+FFFD (first: ${first}): truncate texts between characters`,
  };
}
