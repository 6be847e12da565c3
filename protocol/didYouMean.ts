/** Maximum edits to a misspelt name, as a share of its length. */
const MAX_EDIT_SHARE = 0.34;
/** Minimum length of a substring match: shorter names occur in too many others. */
const MIN_SUBSTRING = 4;

/**
 * Suggests the known name closest to an unknown one: within a few edits, ignoring case and underscores, or
 * the only one that contains it or is contained in it.
 * @returns ` Did you mean "…"?`, or an empty string
 */
export function didYouMean(unknown: string, known: readonly string[]): string {
  const normalized = normalize(unknown);
  const closest = known
    .map((name) => ({ name, edits: editsBetween(normalized, normalize(name)) }))
    .filter(({ name, edits }) => edits <= MAX_EDIT_SHARE * Math.min(normalized.length, name.length))
    .toSorted((a, b) => a.edits - b.edits);
  const substrings = known.filter((name) => isSubstring(normalized, normalize(name)));
  const suggestion = closest[0]?.name ?? (substrings.length === 1 ? substrings[0] : undefined);
  return suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`;
}

function normalize(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}

/** Whether either contains the other. */
function isSubstring(a: string, b: string): boolean {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.length >= MIN_SUBSTRING && long.includes(short);
}

/** Number of letters to insert, delete, replace or swap with the next (optimal string alignment). */
function editsBetween(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        rows[i - 1]![j]! + 1,
        row[j - 1]! + 1,
        rows[i - 1]![j - 1]! + (isSame ? 0 : 1),
        isSwapped ? rows[i - 2]![j - 2]! + 1 : Infinity,
      );
    }
    rows.push(row);
  }
  return rows.at(-1)!.at(-1)!;
}
