import type { SchemaElement } from "hyparquet";

/** Nanoseconds in each unit. */
const UNITS = { MILLIS: 1_000_000n, MICROS: 1_000n, NANOS: 1n };
const SECOND = 1_000_000_000n;
const DAY = 86_400n * SECOND;
const DAY_MS = 86_400_000;

/** What a column's numbers mean. */
interface TimeType {
  kind: "DATE" | "TIME" | "TIMESTAMP";
  /** In nanoseconds. */
  unit: bigint;
  isUtc?: boolean;
}

/**
 * Formats a column's dates and times like Python's `isoformat`, without a zone if the file has none.
 * @returns undefined for a column of other values; otherwise a function that returns undefined for years beyond Python's
 */
export function timeFormatter(
  element: SchemaElement,
): ((value: number | bigint) => string | undefined) | undefined {
  const timeType = timeTypeOf(element);
  if (!timeType) return undefined;
  const { kind, unit, isUtc } = timeType;
  return (value) => {
    const nanoseconds = BigInt(value) * unit;
    const time = ((nanoseconds % DAY) + DAY) % DAY;
    if (kind === "TIME") return timeText(time);
    const date = dateText(Number((nanoseconds - time) / DAY));
    if (kind === "DATE" || date === undefined) return date;
    return `${date}T${timeText(time)}${isUtc ? "+00:00" : ""}`;
  };
}

function timeTypeOf(element: SchemaElement): TimeType | undefined {
  const { logical_type: logical, converted_type: converted, type } = element;
  if (logical?.type === "TIMESTAMP") {
    return { kind: "TIMESTAMP", unit: UNITS[logical.unit], isUtc: logical.isAdjustedToUTC };
  }
  if (logical?.type === "TIME") return { kind: "TIME", unit: UNITS[logical.unit] };
  // Spark's timestamp, which hyparquet converts to nanoseconds.
  if (type === "INT96") return { kind: "TIMESTAMP", unit: 1n };
  // Older annotations. pyarrow reads their timestamps as local.
  switch (logical?.type ?? converted) {
    case "DATE":
      return { kind: "DATE", unit: DAY };
    case "TIME_MILLIS":
      return { kind: "TIME", unit: UNITS.MILLIS };
    case "TIME_MICROS":
      return { kind: "TIME", unit: UNITS.MICROS };
    case "TIMESTAMP_MILLIS":
      return { kind: "TIMESTAMP", unit: UNITS.MILLIS };
    case "TIMESTAMP_MICROS":
      return { kind: "TIMESTAMP", unit: UNITS.MICROS };
    default:
      return undefined;
  }
}

function dateText(days: number): string | undefined {
  const date = new Date(days * DAY_MS);
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999 ? date.toISOString().slice(0, 10) : undefined;
}

function timeText(nanoseconds: bigint): string {
  const fraction = nanoseconds % SECOND;
  const seconds = Number(nanoseconds / SECOND);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const text = parts.map((part) => String(part).padStart(2, "0")).join(":");
  if (fraction === 0n) return text;
  const digits = String(fraction).padStart(9, "0");
  return `${text}.${digits.endsWith("000") ? digits.slice(0, 6) : digits}`;
}
