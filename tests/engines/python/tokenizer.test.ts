import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { openTokenizer } from "../../../engines/checkpoint/savedTokenizer.ts";
import { jsonl, scratchDirectory, scratchFile } from "../embedded/scratch.ts";
import { FAMILIES, tinyWeights } from "../embedded/tiny.ts";
import { STYLES, writeTokenizer } from "../tokens/styles.ts";
import {
  type WarmPython,
  ENV,
  createPythonEngine,
  hasPython,
  startWarmPython,
} from "./environment.ts";

const STYLE = STYLES["Qwen 3"]!;
const SIZES = { vocabulary: STYLE.size, context: 96 };

let warm: WarmPython;

describe.runIf(hasPython)("with Python", () => {
  beforeAll(async () => void (warm = await startWarmPython()));
  afterAll(() => warm.close());

  const engine = () => createPythonEngine({ path: warm.path, env: ENV });

  /** A folder of a model, as others publish it. */
  function published(family: string): string {
    const shape = { ...FAMILIES[family]!, ...SIZES };
    const path = join(scratchDirectory(), "model");
    saveModel(path, tinyWeights(1, shape), { shape, promptStyle: "message" });
    writeTokenizer(path, STYLE);
    return path;
  }

  const change = (path: string, more: object) => {
    const config = JSON.parse(readFileSync(path, "utf8")) as object;
    writeFileSync(path, JSON.stringify({ ...config, ...more }));
  };

  it("reads the tokens that tokenizer.json says, whatever the model's type is", async () => {
    const model = published("Qwen 2");
    const each = { type: "Split", pattern: { Regex: "." }, behavior: "Isolated", invert: false };
    const bytes = {
      type: "ByteLevel",
      add_prefix_space: false,
      trim_offsets: true,
      use_regex: false,
    };
    const pre_tokenizer = { type: "Sequence", pretokenizers: [each, bytes] };
    change(join(model, "tokenizer.json"), { pre_tokenizer });
    const { tokenizer } = openTokenizer(model, STYLE.size);
    const row = { text: "hello there, hello there" };
    const tokens = tokenizer.spansOf(row).reduce((sum, span) => sum + span.tokens.length, 0);
    const path = scratchFile("rows.jsonl", jsonl([row]));
    const dataset = { type: "jsonl", path } as const;
    const config = engine().prepare({ model, dataset, maxSteps: 1, batchSize: 1 });
    const found = await engine().check({ config });
    expect(found.longestRow).toBe(tokens);
  });
});
