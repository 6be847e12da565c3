import { fileTensors } from "../../../engines/modelFiles/fileTensors.ts";
import { openSafetensors } from "../../../engines/modelFiles/safetensors.ts";
import { readAll as readTensors } from "../../../engines/modelFiles/tensors.ts";
import type { StoredWeights } from "../../../engines/modelFiles/weights.ts";

const MOST = 100;

/** Every tensor of a safetensors file. */
export function readAll(path: string): StoredWeights {
  return readTensors(fileTensors(openSafetensors(path, MOST).tensors));
}
