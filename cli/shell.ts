/** Quotes a word for a shell where necessary. */
export function shellWord(word: string): string {
  return /^[\w@:./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
