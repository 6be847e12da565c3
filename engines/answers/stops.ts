/** Finds the texts that end an answer. */
export interface Stops {
  /**
   * Takes more of the answer.
   * @returns what is known to belong to it, whether one of the texts has come, and what came behind that
   */
  push: (text: string) => { text: string; isStopped: boolean; after: string };
  /** What was held back, once nothing more comes. */
  rest: () => string;
}

/** Holds back text that may begin a stop. */
export function createStops(stops: readonly string[]): Stops {
  let held = "";
  return {
    push(text) {
      const all = held + text;
      const found = stops
        .map((stop) => ({ from: all.indexOf(stop), length: stop.length }))
        .filter(({ from }) => from >= 0)
        .toSorted((a, b) => a.from - b.from)[0];
      if (found) {
        held = "";
        const { from, length } = found;
        return { text: all.slice(0, from), isStopped: true, after: all.slice(from + length) };
      }
      const begun = Math.max(0, ...stops.map((stop) => begunLength(all, stop)));
      held = all.slice(all.length - begun);
      return { text: all.slice(0, all.length - begun), isStopped: false, after: "" };
    },
    rest() {
      const text = held;
      held = "";
      return text;
    },
  };
}

/** Length of the longest start of a stop that the text ends with. */
function begunLength(text: string, stop: string): number {
  let length = Math.min(text.length, stop.length - 1);
  while (length > 0 && !text.endsWith(stop.slice(0, length))) length--;
  return length;
}
