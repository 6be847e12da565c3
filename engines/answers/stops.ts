/** Finds stop sequences in a stream of text. */
export interface Stops {
  /**
   * Takes more of the answer.
   * @returns text that belongs to the answer, whether a stop sequence ended it, and what came after
   */
  push: (text: string) => { text: string; isStopped: boolean; after: string };
  /** Returns the held-back text at the end of the answer. */
  flush: () => string;
}

/** Holds back text that may begin a stop sequence. */
export function createStops(stops: readonly string[]): Stops {
  let heldBack = "";
  return {
    push(text) {
      const all = heldBack + text;
      const found = stops
        .map((stop) => ({ from: all.indexOf(stop), length: stop.length }))
        .filter(({ from }) => from >= 0)
        .toSorted((a, b) => a.from - b.from)[0];
      if (found) {
        heldBack = "";
        const { from, length } = found;
        return { text: all.slice(0, from), isStopped: true, after: all.slice(from + length) };
      }
      const partial = Math.max(0, ...stops.map((stop) => partialLength(all, stop)));
      heldBack = all.slice(all.length - partial);
      return { text: all.slice(0, all.length - partial), isStopped: false, after: "" };
    },
    flush() {
      const text = heldBack;
      heldBack = "";
      return text;
    },
  };
}

/** Length of the longest prefix of a stop sequence at the text's end. */
function partialLength(text: string, stop: string): number {
  let length = Math.min(text.length, stop.length - 1);
  while (length > 0 && !text.endsWith(stop.slice(0, length))) length--;
  return length;
}
