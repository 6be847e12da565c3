import { formatCounted } from "../../protocol/format.ts";

/** A lone surrogate as JSON.stringify escapes it, if its backslash isn't escaped itself. */
const LONE_SURROGATE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g;

/** Replaces lone surrogates, which truncating text within a character leaves, with U+FFFD. */
export interface LoneSurrogates {
  /** @param line JSON, as JSON.stringify writes it */
  replace: (line: string, where: string) => string;
  /** A warning about replaced surrogates, if any. */
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
