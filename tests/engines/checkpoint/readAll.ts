import { useSafetensors } from "../../../engines/checkpoint/safetensors.ts";
import type { Weights } from "../../../engines/llama/weights.ts";

const MOST = 100;

/** Every tensor of a safetensors file. */
export function readAll(path: string): Weights {
  return useSafetensors(path, ({ entries, read }) =>
    Object.fromEntries([...entries(MOST)].map(([name, entry]) => [name, read(name, entry)])),
  );
}
