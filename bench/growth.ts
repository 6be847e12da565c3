import { show } from "./figure.ts";
import type { Goal } from "./goals.ts";
import type { Measured, Row, Size } from "./row.ts";
import type { Scope } from "./scope.ts";

export type MeasureSize<T> = (scope: Scope, size: number) => Promise<T>;

/** Measures a size for the first row that asks, and gives later rows the same result. */
export function onceASize<T>(measure: MeasureSize<T>): MeasureSize<T> {
  const known = new Map<number, Promise<T>>();
  return (scope, size) => {
    const figures = known.get(size) ?? measure(scope, size);
    known.set(size, figures);
    return figures;
  };
}

/** How row 18 repeats another row at several sizes. */
interface Growth {
  work: string;
  baseline: string;
  sizes: Record<Size, number[]>;
  /** The unit of a size. */
  noun: string;
  goal: Goal;
  /** In milliseconds. */
  measure: MeasureSize<{ ours: number; baseline: number }>;
}

/** A line for each size. */
export function growth({ work, baseline, sizes, noun, goal, measure }: Growth): Row {
  return {
    number: 18,
    work,
    baseline,
    async measure(scope) {
      const lines: Measured[] = [];
      for (const size of scope.pick(sizes)) {
        const figures = await measure(scope, size);
        lines.push({ part: `${show(size)} ${noun}`, ...figures, unit: "ms", goal });
      }
      return lines;
    },
  };
}
