/** Where the lines of a file come from that the rows of a dataset were written to. */
export interface Places {
  /** Adds the next line's. @param where file and line, or dataset and row */
  add: (where: string) => void;
  /** @param line from 1 */
  of: (line: number) => string | undefined;
}

/** Rows that come one after another take one entry, so that a million of them take no memory. */
export function createPlaces(): Places {
  const firsts: number[] = [];
  const names: string[] = [];
  const numbers: number[] = [];
  let lines = 0;
  return {
    add(where) {
      lines++;
      const [, name = where, digits] = /^(.*\D)(\d+)$/s.exec(where) ?? [];
      const last = firsts.length - 1;
      const isNext =
        names[last] === name && Number(digits) - numbers[last]! === lines - firsts[last]!;
      if (isNext) return;
      firsts.push(lines);
      // The same string as before, not a copy.
      names.push(names[last] === name ? names[last] : name);
      numbers.push(Number(digits));
    },
    of(line) {
      if (line < 1 || line > lines) return undefined;
      const at = firsts.findLastIndex((first) => first <= line);
      return `${names[at]}${numbers[at]! + line - firsts[at]!}`;
    },
  };
}

/**
 * Names the rows' own places in a text that names the file they were written to.
 * @param name the dataset's, where the text names no line
 */
export function inPlaces(path: string, name: string, places: Places): (text: string) => string {
  const placed = (rest: string) => {
    const [line = ""] = /^:\d+/.exec(rest) ?? [];
    return (places.of(Number(line.slice(1))) ?? name + line) + rest.slice(line.length);
  };
  return (text) => {
    const [before = "", ...after] = text.split(path);
    return before + after.map(placed).join("");
  };
}
