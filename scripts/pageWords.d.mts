/** The words of a page's text, each once, sorted; no numbers. */
export function wordsOf(text: string): string[];
