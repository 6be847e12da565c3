import { openSafetensors } from "../../../engines/modelFiles/safetensors.ts";
import { fileTensors, readAll as readTensors } from "../../../engines/modelFiles/tensors.ts";
import type { StoredWeights } from "../../../engines/modelFiles/weights.ts";

const MOST = 100;

/** Every tensor of a safetensors file. */
export function readAll(path: string): StoredWeights {
  return readTensors(fileTensors(openSafetensors(path, MOST).tensors));
}
