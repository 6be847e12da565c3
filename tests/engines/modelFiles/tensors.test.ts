import { join } from "node:path";
import { expect, test } from "vitest";
import { adapterFiles, openCheckpoint, saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { writeDirectory } from "../../../engines/checkpoint/directory.ts";
import { exportModel } from "../../../engines/export/exportModel.ts";
import { PROJECTIONS } from "../../../engines/families/projections.ts";
import { randomAdapter } from "../../../engines/lora/adapter.ts";
import { chunks, readAll, rowsOf } from "../../../engines/modelFiles/tensors.ts";
import { GGUF_TYPES } from "../../../protocol/exportFormat.ts";
import { scratchDirectory } from "../embedded/scratch.ts";
import { tinyWeights, toBfloat16 } from "../embedded/tiny.ts";
import { FAMILIES } from "../gguf/families.ts";

const LORA = { r: 3, alpha: 6, targetModules: [...PROJECTIONS] };

/** The files of a model with biases and of an adapter to it, as safetensors and as GGUF of each type. */
async function saved(): Promise<string[]> {
  const directory = scratchDirectory();
  const shape = FAMILIES["Llama with biases"]!;
  const notes = { shape, promptStyle: "message" as const };
  const [base, halves, adapter] = ["base", "halves", "adapter"].map((name) =>
    join(directory, name),
  );
  saveModel(base!, tinyWeights(1, shape), notes);
  saveModel(halves!, toBfloat16(tinyWeights(1, shape)), notes);
  const tensors = randomAdapter(LORA, shape, 1);
  for (const { data } of Object.values(tensors)) data.forEach((_, i) => (data[i] = Math.sin(i)));
  writeDirectory(adapter!, adapterFiles(tensors, { ...notes, lora: LORA, base: halves! }));
  const files = [base!, halves!, adapter!];
  for (const type of GGUF_TYPES) {
    const to = join(directory, type);
    files.push((await exportModel(base!, to, { format: "gguf", type })).path);
  }
  return files;
}

test("any rows of a tensor are those of the whole one, whatever its file, its type and its order of rows", async () => {
  for (const path of await saved()) {
    const { weights } = openCheckpoint(path);
    for (const [name, { shape, data }] of Object.entries(readAll(weights))) {
      const rows = Array.from({ length: rowsOf(shape) }, (_, row) => row);
      const alone = rows.flatMap((row) => [...weights.rows(name, row, row + 1)]);
      expect(alone, `${name} of ${path}`).toEqual([...data]);
      const units = [...chunks(weights, name, { unit: 4 })].map((part) => part.length);
      expect(units, name).toEqual([data.length]);
    }
  }
});
