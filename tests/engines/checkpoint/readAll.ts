import { hasNumbers, useSafetensors } from "../../../engines/modelFiles/safetensors.ts";
import type { StoredWeights } from "../../../engines/modelFiles/weights.ts";

const MOST = 100;

/** Every tensor of a safetensors file. */
export function readAll(path: string): StoredWeights {
  return useSafetensors(path, ({ entries, read }) =>
    Object.fromEntries(
      [...entries(MOST)].flatMap(([name, entry]) =>
        hasNumbers(entry) ? [[name, read(name, entry)]] : [],
      ),
    ),
  );
}
