import { execFileSync } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createProject } from "../project.ts";

const DATA = fileURLToPath(new URL("../../templates/finetune/data", import.meta.url));
const FILES = ["train.jsonl", "heldout.jsonl"] as const;
const ORDER = /[A-Z]-\d{4}/;

interface Row {
  prompt: string;
  completion: string;
}

interface Kind {
  learned: string[];
  heldOut: string[];
}

test("the rows are those that the script writes: 360 to train on, 100 of other wordings held out", async () => {
  const folder = createProject();
  cpSync(join(DATA, "generate.mjs"), join(folder, "generate.mjs"));
  execFileSync(process.execPath, [join(folder, "generate.mjs")]);
  for (const name of FILES) {
    expect(readFileSync(join(folder, name), "utf8")).toBe(readFileSync(join(DATA, name), "utf8"));
  }
  const [train, heldOut] = FILES.map((name) =>
    readFileSync(join(DATA, name), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Row),
  ) as [Row[], Row[]];
  expect([train.length, heldOut.length]).toEqual([360, 100]);
  const orders = [...train, ...heldOut].map(({ prompt, completion }) => {
    const [order] = ORDER.exec(prompt) ?? [];
    expect(JSON.parse(completion)).toEqual({
      team: expect.any(String) as string,
      priority: expect.any(Number) as number,
      order,
    });
    return order;
  });
  expect(new Set(orders).size).toBe(orders.length);
  const { KINDS } = (await import(join(folder, "generate.mjs"))) as { KINDS: Kind[] };
  const learned = new Set(KINDS.flatMap((kind) => kind.learned));
  const unseen = KINDS.flatMap((kind) => kind.heldOut);
  expect(unseen.filter((wording) => learned.has(wording))).toEqual([]);
  expect(new Set(unseen).size).toBe(heldOut.length);
});
