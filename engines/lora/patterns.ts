/** What PEFT calls a pattern's value by the end of a module's path, such as a rank. */
export type Patterns = Readonly<Record<string, number>>;

/** As PEFT matches: the first pattern that the path, or the end of it after a dot, is. */
export function patternValue(patterns: Patterns, module: string): number | undefined {
  const found = Object.keys(patterns).find((key) => new RegExp(`^(.*\\.)?(${key})$`).test(module));
  return found === undefined ? undefined : patterns[found];
}

const LONGEST = 200;
const MOST_REPEATS = 3;

/** Whether a pattern is a regular expression that takes little time on any path. */
export function isModest(pattern: string): boolean {
  const repeats = pattern.match(/[*+?{]/g)?.length ?? 0;
  if (pattern.length > LONGEST || repeats > MOST_REPEATS || /\)[*+{]|\(\?|\\\d/.test(pattern))
    return false;
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    // Another language's, or damaged.
    return false;
  }
}
