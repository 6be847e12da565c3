const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;

/** Formats seconds as `5s`, `1m 05s`, `2h 03m` or `1d 4h`. */
export function formatDuration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < MINUTE_S) return `${whole}s`;
  const twoDigits = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(whole / MINUTE_S);
  if (whole < HOUR_S) return `${minutes}m ${twoDigits(whole % MINUTE_S)}s`;
  const hours = Math.floor(whole / HOUR_S);
  if (whole < DAY_S) return `${hours}h ${twoDigits(minutes % MINUTE_S)}m`;
  return `${Math.floor(whole / DAY_S)}d ${twoDigits(hours % 24)}h`;
}

/** `5 minutes ago`, in coarse units that don't change while one reads. */
export function formatAgo(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < MINUTE_S) return "less than a minute ago";
  const [unit, noun] =
    seconds < HOUR_S ? [MINUTE_S, "minute"] : seconds < DAY_S ? [HOUR_S, "hour"] : [DAY_S, "day"];
  return `${formatCounted(Math.floor(seconds / unit), noun)} ago`;
}

/** Separates thousands, and keeps one decimal. `toLocaleString` would take 40 ms to load its locales. */
export function formatCount(value: number): string {
  const rounded = value < 1 ? withDigits(value, 1) : Number(value.toFixed(1));
  const [whole = "", decimals] = String(rounded).split(".");
  const separated = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return decimals === undefined ? separated : `${separated}.${decimals}`;
}

/** GiB with two decimals: `1.50`. */
export function formatGibibytes(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(2);
}

/** Rounds to this many significant digits. */
export function withDigits(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}

/** Three digits: `0.923`. */
export function formatMetricValue(value: number): string {
  return String(withDigits(value, 3));
}

/** Four digits: `0.001234`, `1.234`, `1.23e-7`. */
export function formatNumber(value: number): string {
  return String(withDigits(value, 4));
}

/** `1 row`, `1,200 rows`. @param noun in the singular */
export function formatCounted(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}
