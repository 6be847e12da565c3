export type Unit =
  | "ms"
  | "MB"
  | "MB/s"
  | "kB"
  | "%"
  | "tokens/s"
  | "steps/s"
  | "GFLOP/s"
  | "frames/s"
  | "";

/** A value with three significant digits, and its unit. */
export function show(value: number, unit: Unit = ""): string {
  const number =
    value >= 100 ? Math.round(value).toLocaleString("en") : String(+value.toPrecision(3));
  return `${number} ${unit}`.trim();
}
