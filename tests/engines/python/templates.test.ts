import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import { parseRow } from "../../../engines/dataset/row.ts";
import { parseJson } from "../../../protocol/json.ts";
import { CHAT_TEMPLATES } from "../../../scripts/chatTemplates.mjs";
import { createScratch } from "../scratch.ts";
import { PYTHON, hasPython } from "./environment.ts";

const ENGINE = fileURLToPath(new URL("../../../engines/python", import.meta.url));
const PROGRAM = fileURLToPath(new URL("templates.py", import.meta.url));
/** Conversations for each template. */
const COUNT = 500;

interface Sequence {
  ids: number[];
  /** The text of each run of learned tokens. */
  learned: string[];
}

interface Written {
  row: object;
  /** Of `apply_chat_template`, and by a plain rule. */
  expected: Sequence[];
  /** Of the Python engine. */
  python: Sequence[];

  trl: string[] | null;
}

const isHere = hasPython && existsSync(CHAT_TEMPLATES);
const scratch = createScratch();
afterAll(() => scratch.remove());
const models: [name: string, written: Written[]][] = isHere
  ? Object.entries(JSON.parse(printed()) as Record<string, Written[]>)
  : // A file needs a suite, if only one that is left out.
    [["no model", []]];

function printed(): string {
  const words = ["-B", PROGRAM, ENGINE, CHAT_TEMPLATES, scratch.root, String(COUNT)];
  return execFileSync(PYTHON, words, { encoding: "utf8", maxBuffer: 2 ** 30 });
}

describe.runIf(isHere).each(models)("conversations by the template of %s", (name, written) => {
  it("are written and learned by the embedded engine as transformers and a plain rule say", () => {
    const { tokenizer } = openTokenizer(join(scratch.root, name), 10_000);
    expect(written).toHaveLength(COUNT);
    for (const { row, expected } of written) {
      const sequences = tokenizer.sequencesOf(parseRow(parseJson(JSON.stringify(row)), "a row"));
      const found = sequences.map((spans): Sequence => {
        const runs = spans.filter(({ isLearned }) => isLearned);
        return {
          ids: spans.flatMap(({ tokens }) => [...tokens]),
          learned: runs.map(({ tokens }) => tokenizer.show([...tokens])),
        };
      });
      expect(found, JSON.stringify(row)).toEqual(expected);
    }
  });

  it("are written and learned by the Python engine alike", () => {
    for (const { row, expected, python } of written) {
      expect(python, JSON.stringify(row)).toEqual(expected);
    }
  });

  it("are learned as TRL learns them, where its template writes the model's own text", () => {
    for (const { row, expected, trl } of written) {
      const learned = expected.flatMap((one) => one.learned.map((text) => text.trim()));
      if (trl)
        expect(
          trl.map((text) => text.trim()),
          JSON.stringify(row),
        ).toEqual(learned);
    }
  });
});
