/** Finds the tokens that a text spells, as tokenizers do: the first, and of these the longest. */
export function createTokenFinder<Token extends { content: string }>(
  tokens: readonly Token[],
): (text: string) => Token[] {
  const byText = new Map(tokens.map((token) => [token.content, token]));
  const any = patternOf([...byText.keys()]);
  return (text) =>
    any ? [...text.matchAll(any)].flatMap(([found]) => byText.get(found) ?? []) : [];
}

/** Matches any of the texts; undefined without one. */
function patternOf(texts: readonly string[]): RegExp | undefined {
  const longestFirst = texts.toSorted((a, b) => b.length - a.length);
  const escaped = longestFirst.map((text) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return escaped.length === 0 ? undefined : new RegExp(escaped.join("|"), "g");
}
