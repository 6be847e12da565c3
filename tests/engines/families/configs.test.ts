import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openModel } from "../../../engines/checkpoint/savedModel.ts";
import { writeSafetensors } from "../../../engines/modelFiles/safetensors.ts";
import { readAll } from "../../../engines/modelFiles/tensors.ts";
import { difference } from "../embedded/kernels/team.ts";
import { logitsOf } from "../embedded/learner.ts";
import { tokensOf, weightsOf } from "../embedded/model/madeWeights.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

/** A model of the output of `reference/configs.py`. */
interface Case {
  config: { vocab_size: number };
  /** None where transformers fails, too. */
  tensors?: Record<string, number[]>;
  /** The first ones after the last token. */
  logits?: number[];
  /** Why Kit refuses it. */
  refused?: string;
}

const CASES = JSON.parse(
  readFileSync(new URL("./reference/configs.json", import.meta.url), "utf8"),
) as Case[];
const LENGTH = 40;

test.each(CASES.map((one) => [describe(one), one] as const))(
  "Kit computes what transformers does, or refuses: %s",
  (_, { config, tensors = {}, logits = [], refused }) => {
    const path = join(scratchDirectory(), "model");
    mkdirSync(path);
    writeFileSync(join(path, "config.json"), JSON.stringify(config));
    const file = Buffer.concat(writeSafetensors(weightsOf(tensors)));
    writeFileSync(join(path, "model.safetensors"), file);
    if (refused !== undefined) {
      expect(() => openModel(path)).toThrow(refused);
      return;
    }
    const { shape, weights } = openModel(path);
    const tokens = tokensOf("tokens", LENGTH, config.vocab_size);
    const last = logitsOf(readAll(weights), tokens, shape).at(-1)!;
    expect(logits).toHaveLength(6);
    expect(difference(last.slice(0, logits.length), logits)).toBeLessThan(1e-3);
  },
);

/** Its config without the sizes, and its tensors outside the layers. */
function describe({ config, tensors = {} }: Case): string {
  const shown = Object.entries(config).filter(
    ([key]) => !/_size$|^architectures|_heads$/.test(key),
  );
  const names = Object.keys(tensors).filter((name) => /lm_head|embed_tokens/.test(name));
  return `${JSON.stringify(Object.fromEntries(shown))} with ${names.join(", ")}`;
}
