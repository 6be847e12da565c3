/** Finds the texts that end an answer. */
export interface Stops {
  /** Takes more of the answer. @returns what is known to belong to it, and whether one of the texts has come */
  push: (text: string) => { text: string; isStopped: boolean };
  /** What was held back, once nothing more comes. */
  rest: () => string;
}

/** Holds back what may be the beginning of a text that ends the answer. */
export function createStops(stops: readonly string[]): Stops {
  let held = "";
  return {
    push(text) {
      const all = held + text;
      const places = stops.map((stop) => all.indexOf(stop)).filter((place) => place >= 0);
      if (places.length > 0) {
        held = "";
        return { text: all.slice(0, Math.min(...places)), isStopped: true };
      }
      const begun = Math.max(0, ...stops.map((stop) => begunLength(all, stop)));
      held = all.slice(all.length - begun);
      return { text: all.slice(0, all.length - begun), isStopped: false };
    },
    rest() {
      const text = held;
      held = "";
      return text;
    },
  };
}

/** How much of a stop the text ends with. */
function begunLength(text: string, stop: string): number {
  let length = Math.min(text.length, stop.length - 1);
  while (length > 0 && !text.endsWith(stop.slice(0, length))) length--;
  return length;
}
