import { execFileSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createProject } from "../project.ts";

const TEMPLATES = fileURLToPath(new URL("../../templates", import.meta.url));
const FILES = ["train.jsonl", "heldout.jsonl"] as const;

interface Row {
  prompt: string;
  completion: string;
}

function rowsOf(template: string): [train: Row[], heldOut: Row[]] {
  const [train = [], heldOut = []] = FILES.map((name) => {
    const text = readFileSync(join(TEMPLATES, template, "data", name), "utf8");
    return text.split(/(?<=\n)/).map((line) => JSON.parse(line) as Row);
  });
  return [train, heldOut];
}

test.each(["quickstart", "finetune"])("the rows of %s are those that its script writes", (name) => {
  const folder = createProject();
  cpSync(join(TEMPLATES, name, "data/generate.mjs"), join(folder, "generate.mjs"));
  execFileSync(process.execPath, ["generate.mjs"], { cwd: folder });
  for (const file of FILES) {
    const committed = readFileSync(join(TEMPLATES, name, "data", file));
    expect(readFileSync(join(folder, file)).equals(committed), file).toBe(true);
  }
});

/** Told from one another by their punctuation alone. */
const FORMATS = [
  /^(?<d>\d{1,2})(?<th>st|nd|rd|th) of (?<month>[A-Z][a-z]+) (?<y>\d{4})$/,
  /^(?<month>[A-Z][a-z]+) (?<d>\d{1,2}), (?<y>\d{4})$/,
  /^(?<d>\d{2})\.(?<m>\d{2})\.(?<y>\d{4})$/,
  /^(?<d>\d{1,2})-(?<month>[A-Z][a-z]{2})-(?<y>\d{4})$/,
  /^(?<y>\d{4})\/(?<m>\d{2})\/(?<d>\d{2})$/,
  /^(?<month>[A-Z][a-z]{2}) (?<d>\d{1,2})(?<th>st|nd|rd|th), (?<y>\d{4})$/,
  /^(?<d>\d{1,2}) (?<month>[A-Z][a-z]+) (?<y>\d{4})$/,
  /^(?<y>\d{4})(?<m>\d{2})(?<d>\d{2})$/,
];
const SUFFIXES: Record<string, string> = { one: "st", two: "nd", few: "rd", other: "th" };
const ORDINALS = new Intl.PluralRules("en", { type: "ordinal" });

/** A prompt's meaning, read without the script that wrote it. */
function readDate(prompt: string): { format: number; iso: string } {
  const found = FORMATS.map((format) => format.exec(prompt)?.groups);
  expect(found.filter(Boolean), `"${prompt}" has exactly one format`).toHaveLength(1);
  const format = found.findIndex(Boolean);
  const { y, m, d, month, th } = found[format]!;
  if (th) expect(th, prompt).toBe(SUFFIXES[ORDINALS.select(Number(d))]);
  const [year, number, day] = month
    ? new Date(`${month} ${d}, ${y} UTC`).toISOString().slice(0, 10).split("-")
    : [y, m, d!];
  return { format, iso: `${year}-${number}-${day}` };
}

test("the quickstart's rows are real dates in eight formats, each as often, and held-out ones are in no other", () => {
  const [train, heldOut] = rowsOf("quickstart");
  for (const [rows, count] of [
    [train, 500],
    [heldOut, 25],
  ] as const) {
    const counts = FORMATS.map(() => 0);
    for (const row of rows) {
      expect(Object.keys(row)).toEqual(["prompt", "completion"]);
      expect(row.prompt).toMatch(/^[ -~]{1,24}$/);
      const { format, iso } = readDate(row.prompt);
      expect(iso, row.prompt).toBe(row.completion);
      expect(new Date(`${iso}T00:00:00Z`).toISOString().slice(0, 10)).toBe(iso);
      counts[format]!++;
    }
    expect(counts).toEqual(FORMATS.map(() => count));
  }
  const learned = new Set(train.map(({ completion }) => completion));
  expect(heldOut.filter(({ completion }) => learned.has(completion))).toEqual([]);
});

interface Kind {
  learned: string[];
  heldOut: string[];
}

test("finetune has 360 rows to train on, and 100 of other wordings held out", async () => {
  const [train, heldOut] = rowsOf("finetune");
  expect([train.length, heldOut.length]).toEqual([360, 100]);
  const orders = [...train, ...heldOut].map(({ prompt, completion }) => {
    const [order] = /[A-Z]-\d{4}/.exec(prompt) ?? [];
    expect(JSON.parse(completion)).toEqual({
      team: expect.any(String) as string,
      priority: expect.any(Number) as number,
      order,
    });
    return order;
  });
  expect(new Set(orders).size).toBe(orders.length);
  const script = createProject();
  cpSync(join(TEMPLATES, "finetune/data/generate.mjs"), join(script, "generate.mjs"));
  const { KINDS } = (await import(join(script, "generate.mjs"))) as { KINDS: Kind[] };
  const learned = new Set(KINDS.flatMap((kind) => kind.learned));
  const unseen = KINDS.flatMap((kind) => kind.heldOut);
  expect(unseen.filter((wording) => learned.has(wording))).toEqual([]);
  expect(new Set(unseen).size).toBe(heldOut.length);
});
