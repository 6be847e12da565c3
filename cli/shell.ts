/** A word as a shell reads it back, quoted where it has to be. */
export function shellWord(word: string): string {
  return /^[\w@:./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
