import type { GgufType } from "../../protocol/exportFormat.ts";
import { type NumberTypeName, NUMBER_TYPES } from "../modelFiles/numberTypes.ts";
import type { Dimensions } from "./dimensions.ts";
import { EMBEDDING, HEAD } from "./projections.ts";

/** llama.cpp's `general.file_type` for each type that `kit export` writes. */
export const FILE_TYPES: Record<GgufType, number> = {
  f32: 0,
  f16: 1,
  q4_0: 2,
  q8_0: 7,
  q4_k_m: 15,
  bf16: 32,
};

/** The types that llama.cpp uses instead, if a row isn't a whole number of the type's blocks. */
const FALLBACKS: Partial<Record<NumberTypeName, NumberTypeName>> = { q4_k: "q5_0", q6_k: "q8_0" };

/** The number type that llama.cpp gives a matrix in a file of type `fileType`. */
export function matrixType(
  fileType: GgufType,
  name: string,
  columns: number,
  { layers, tied }: Pick<Dimensions, "layers" | "tied">,
): NumberTypeName {
  const fitsBlocks = (type: NumberTypeName) => columns % NUMBER_TYPES[type].block === 0;
  const type = chosenType(fileType, name, layers, tied);
  const fitting = fitsBlocks(type) ? type : (FALLBACKS[type] ?? "f16");
  return fitsBlocks(fitting) ? fitting : "f16";
}

/** Gives more bits where errors hurt most: to the head and, in a mix, to `v_proj` and `down_proj` of some layers. */
function chosenType(
  fileType: GgufType,
  name: string,
  layers: number,
  isTied: boolean,
): NumberTypeName {
  const isHead = name === HEAD || (name === EMBEDDING && isTied);
  if (fileType === "q4_0") return isHead || name === EMBEDDING ? "q8_0" : fileType;
  if (fileType !== "q4_k_m") return fileType;
  const [, layer, module] = /\.(\d+)\..*\.(v_proj|down_proj)\.weight$/.exec(name) ?? [];
  return isHead || (module && needsMoreBits(Number(layer), layers)) ? "q6_k" : "q4_k";
}

/** Whether a layer is in the first or last eighth, or is every third between. */
function needsMoreBits(layer: number, layers: number): boolean {
  const eighth = Math.floor(layers / 8);
  const isNearEnd = layer < eighth || layer >= Math.floor((7 * layers) / 8);
  return isNearEnd || (layer - eighth) % 3 === 2;
}
