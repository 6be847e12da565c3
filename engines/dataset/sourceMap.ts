/** The source of each line of a materialized dataset. */
export interface SourceMap {
  /** Adds the next line. @param where file and line, or dataset and row */
  add: (where: string) => void;
  /** @param line from 1 */
  locationOf: (line: number) => string | undefined;
}

/** Consecutive rows share one entry, so a million of them take no memory. */
export function createSourceMap(): SourceMap {
  const firstLines: number[] = [];
  const names: string[] = [];
  const numbers: number[] = [];
  let lines = 0;
  return {
    add(where) {
      lines++;
      const [, name = where, digits] = /^(.*\D)(\d+)$/s.exec(where) ?? [];
      const last = firstLines.length - 1;
      const isNext =
        names[last] === name && Number(digits) - numbers[last]! === lines - firstLines[last]!;
      if (isNext) return;
      firstLines.push(lines);
      // Reuses the string, to keep no copies.
      names.push(names[last] === name ? names[last] : name);
      numbers.push(Number(digits));
    },
    locationOf(line) {
      if (line < 1 || line > lines) return undefined;
      const entry = firstLines.findLastIndex((first) => first <= line);
      return `${names[entry]}${numbers[entry]! + line - firstLines[entry]!}`;
    },
  };
}

/**
 * Replaces locations in the materialized file with those in the source.
 * @param path of the materialized file
 * @param name the dataset's name, for text without a line number
 */
export function restoreLocations(
  path: string,
  name: string,
  sourceMap: SourceMap,
): (text: string) => string {
  const restoreLocation = (rest: string) => {
    const [line = ""] = /^:\d+/.exec(rest) ?? [];
    return (sourceMap.locationOf(Number(line.slice(1))) ?? name + line) + rest.slice(line.length);
  };
  return (text) => {
    const [before = "", ...after] = text.split(path);
    return before + after.map(restoreLocation).join("");
  };
}
