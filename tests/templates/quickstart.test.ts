import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const QUICKSTART = fileURLToPath(new URL("../../templates/quickstart", import.meta.url));
const FILES = ["train.jsonl", "heldout.jsonl"] as const;

interface Row {
  prompt: string;
  completion: string;
}

function readText(name: string): string {
  return readFileSync(join(QUICKSTART, "data", name), "utf8");
}

function readRows(name: string): Row[] {
  return readText(name)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);
}

/** The formats as a reader takes them apart, told from one another by their punctuation alone. */
const PATTERNS = {
  "7th of March 1998": /^(?<d>\d{1,2})(?<th>st|nd|rd|th) of (?<month>[A-Z][a-z]+) (?<y>\d{4})$/,
  "March 7, 1998": /^(?<month>[A-Z][a-z]+) (?<d>\d{1,2}), (?<y>\d{4})$/,
  "07.03.1998": /^(?<d>\d{2})\.(?<m>\d{2})\.(?<y>\d{4})$/,
  "7-Mar-1998": /^(?<d>\d{1,2})-(?<mon>[A-Z][a-z]{2})-(?<y>\d{4})$/,
  "1998/03/07": /^(?<y>\d{4})\/(?<m>\d{2})\/(?<d>\d{2})$/,
  "Mar 7th, 1998": /^(?<mon>[A-Z][a-z]{2}) (?<d>\d{1,2})(?<th>st|nd|rd|th), (?<y>\d{4})$/,
  "7 March 1998": /^(?<d>\d{1,2}) (?<month>[A-Z][a-z]+) (?<y>\d{4})$/,
  "19980307": /^(?<y>\d{4})(?<m>\d{2})(?<d>\d{2})$/,
};

function monthNames(width: "long" | "short"): string[] {
  const names = new Intl.DateTimeFormat("en-US", { month: width, timeZone: "UTC" });
  return Array.from({ length: 12 }, (_, month) => names.format(Date.UTC(2000, month)));
}

const LONG_MONTHS = monthNames("long");
const SHORT_MONTHS = monthNames("short");
const SUFFIXES: Record<string, string> = { one: "st", two: "nd", few: "rd", other: "th" };
const ORDINALS = new Intl.PluralRules("en", { type: "ordinal" });

/** A prompt's meaning, read without the script that wrote it. */
function readDate(prompt: string) {
  const matches = Object.entries(PATTERNS).flatMap(([format, pattern]) => {
    const groups = pattern.exec(prompt)?.groups;
    return groups ? [{ format, groups }] : [];
  });
  expect(matches, `"${prompt}" has exactly one format`).toHaveLength(1);
  const { format, groups } = matches[0]!;

  const { y, m, d, month, mon, th } = groups;
  const monthNumber =
    m ?? String((month ? LONG_MONTHS.indexOf(month) : SHORT_MONTHS.indexOf(mon!)) + 1);
  if (th) expect(th, prompt).toBe(SUFFIXES[ORDINALS.select(Number(d))]);
  return { format, iso: `${y}-${monthNumber.padStart(2, "0")}-${d!.padStart(2, "0")}` };
}

function countFormats(rows: Row[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { prompt } of rows) {
    const { format } = readDate(prompt);
    counts[format] = (counts[format] ?? 0) + 1;
  }
  return counts;
}

function eachFormat(count: number): Record<string, number> {
  return Object.fromEntries(Object.keys(PATTERNS).map((format) => [format, count]));
}

describe("the quickstart's data", () => {
  it("is written again, byte for byte, by its script", () => {
    const folder = mkdtempSync(join(tmpdir(), "kit-quickstart-"));
    try {
      cpSync(join(QUICKSTART, "data", "generate.mjs"), join(folder, "generate.mjs"));
      execFileSync(process.execPath, ["generate.mjs"], { cwd: folder });
      for (const name of FILES) {
        const written = readFileSync(join(folder, name));
        const committed = readFileSync(join(QUICKSTART, "data", name));
        expect(written.equals(committed), name).toBe(true);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("has 4,000 rows to train on and 200 held out", () => {
    expect(readRows("train.jsonl")).toHaveLength(4000);
    expect(readRows("heldout.jsonl")).toHaveLength(200);
  });

  it("has at least eight formats, each with as many rows as the others", () => {
    expect(Object.keys(PATTERNS).length).toBeGreaterThanOrEqual(8);
    expect(countFormats(readRows("train.jsonl"))).toEqual(eachFormat(500));
    expect(countFormats(readRows("heldout.jsonl"))).toEqual(eachFormat(25));
  });

  it.each(FILES)("in %s is one JSON object a line with a prompt and a completion only", (name) => {
    const text = readText(name);
    expect(text.endsWith("}\n")).toBe(true);
    for (const line of text.slice(0, -1).split("\n")) {
      const row: unknown = JSON.parse(line);
      expect(row).toEqual({ prompt: expect.any(String), completion: expect.any(String) });
    }
  });

  it.each(FILES)(
    "in %s has a real calendar date in each row, the same in prompt and completion",
    (name) => {
      for (const { prompt, completion } of readRows(name)) {
        expect(readDate(prompt).iso, prompt).toBe(completion);
        expect(new Date(`${completion}T00:00:00Z`).toISOString().slice(0, 10)).toBe(completion);
      }
    },
  );

  it.each(FILES)("in %s has prompts of at most 24 printable ASCII characters", (name) => {
    for (const { prompt } of readRows(name)) expect(prompt).toMatch(/^[ -~]{1,24}$/);
  });

  it("holds out dates that training has in no format", () => {
    const train = readRows("train.jsonl");
    const prompts = new Set(train.map(({ prompt }) => prompt));
    const dates = new Set(train.map(({ completion }) => completion));
    for (const { prompt, completion } of readRows("heldout.jsonl")) {
      expect(prompts.has(prompt), prompt).toBe(false);
      expect(dates.has(completion), completion).toBe(false);
    }
  });
});
