import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openWeights } from "../../../engines/checkpoint/checkpoint.ts";
import { exportModel } from "../../../engines/export/exportModel.ts";
import { parseHeader } from "../../../engines/gguf/parsedHeader.ts";
import { adapterOf } from "../../../engines/lora/peftConfig.ts";
import { useFile } from "../../../engines/modelFiles/regularFile.ts";
import { writeSafetensors } from "../../../engines/modelFiles/safetensors.ts";
import { readAll } from "../../../engines/modelFiles/tensors.ts";
import type { Weights } from "../../../engines/modelFiles/weights.ts";
import { difference } from "../embedded/kernels/team.ts";
import { logitsOf } from "../embedded/learner.ts";
import { FAMILIES, tokensOf, weightsOf } from "../embedded/model/madeWeights.ts";
import { scratchDirectory } from "../embedded/scratch.ts";

/** An adapter of the output of `reference/adapters.py`. */
interface Case {
  config: object;
  tensors: Record<string, number[]>;
  /** After the last of the tokens. */
  logits: number[];
}

const CASES = JSON.parse(
  readFileSync(new URL("./reference/adapters.json", import.meta.url), "utf8"),
) as Case[];
const BASE = FAMILIES["Llama"]!;
const TOKENS = tokensOf("tokens", 12, BASE.config.vocab_size);

/** A folder with the adapter, and one with its base. @param rename of its tensors */
function saved({ config, tensors }: Case, rename = (name: string) => name) {
  const directory = scratchDirectory();
  const write = (name: string, file: string, json: object, weights: [string, Weights]) => {
    mkdirSync(join(directory, name));
    writeFileSync(join(directory, name, file), JSON.stringify(json));
    writeFileSync(join(directory, name, weights[0]), Buffer.concat(writeSafetensors(weights[1])));
    return join(directory, name);
  };
  const base = write("base", "config.json", BASE.config, [
    "model.safetensors",
    weightsOf(BASE.tensors),
  ]);
  const made = Object.entries(weightsOf(tensors)).map(([name, one]) => [rename(name), one]);
  return write("adapter", "adapter_config.json", { ...config, base_model_name_or_path: base }, [
    "adapter_model.safetensors",
    Object.fromEntries(made) as Weights,
  ]);
}

const FORMS = {
  "as PEFT saves them": (name: string) => name,
  "with the adapter's name": (name: string) => name.replace(/\.weight$/, ".default.weight"),
  "without PEFT's prefix": (name: string) => name.replace(/^base_model\.model\./, ""),
};

test.each(CASES.map((one) => [describe(one), one] as const))(
  "an adapter answers as PEFT has it, by tensors of any name: %s",
  async (_, one) => {
    for (const [form, rename] of Object.entries(FORMS)) {
      const path = saved(one, rename);
      const { shape, weights } = openWeights(path);
      const last = logitsOf(readAll(weights), TOKENS, shape).at(-1)!;
      expect(difference(last, one.logits), form).toBeLessThan(1e-4);
      await exportModel(path, `${path}-exported`);
      const exported = readAll(openWeights(`${path}-exported`).weights);
      expect(exported).toEqual(readAll(weights));
    }
  },
);

/** The settings that are not as PEFT has them by default. */
function describe({ config }: Case): string {
  const keys = /^(rank_p|alpha_p|layers_|exclude_|use_rs|target_m)/;
  const set = Object.entries(config).filter(
    ([key, value]) => keys.test(key) && value && Object.keys(value as object).length !== 0,
  );
  return JSON.stringify(Object.fromEntries(set));
}

test("use_rslora counts where Python takes it for true, as PEFT does", () => {
  const config = { peft_type: "LORA", base_model_name_or_path: "base", r: 4, lora_alpha: 6 };
  const scales = [true, 1, "true", false, 0, null].map((use_rslora) =>
    adapterOf("file", { ...config, use_rslora }).scaleOf("q_proj"),
  );
  expect(scales).toEqual([3, 3, 3, 1.5, 1.5, 1.5]);
});

test("an adapter alone in GGUF has one α, which a module's own scale makes up for", async () => {
  // Of v_proj in layer 0, α is 1 in place of 4.
  const path = saved(CASES[1]!);
  const { path: file } = await exportModel(path, `${path}-gguf`, {
    format: "gguf",
    adapterOnly: true,
  });
  const tensors = useFile(file, (open) => parseHeader(file, open)).tensors;
  for (const [layer, factor] of [
    [0, 1 / 4],
    [1, 1],
  ] as const) {
    const { offset, bytes } = tensors.get(`blk.${layer}.attn_v.weight.lora_b`)!;
    const found = new Float32Array(new Uint8Array(readFileSync(file)).buffer, offset, bytes / 4);
    const name = `base_model.model.model.layers.${layer}.self_attn.v_proj.lora_B.weight`;
    const { [name]: b } = weightsOf(CASES[1]!.tensors);
    expect([...found]).toEqual(Array.from(b!.data, (value) => value * factor));
  }
});
