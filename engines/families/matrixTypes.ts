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

/** llama.cpp's types for rows that a type's blocks don't divide. */
const FALLBACKS: Partial<Record<NumberTypeName, NumberTypeName>> = { q4_k: "q5_0", q6_k: "q8_0" };

/** The type llama.cpp gives a matrix in a file of type `wanted`. */
export function matrixType(
  wanted: GgufType,
  name: string,
  columns: number,
  { layers, tied }: Pick<Dimensions, "layers" | "tied">,
): NumberTypeName {
  const fitsBlocks = (type: NumberTypeName) => columns % NUMBER_TYPES[type].block === 0;
  const type = chosenType(wanted, name, layers, tied);
  const found = fitsBlocks(type) ? type : (FALLBACKS[type] ?? "f16");
  return fitsBlocks(found) ? found : "f16";
}

/** Higher-precision types where errors hurt most: the head and, in a mix, `v_proj` and `down_proj` of some layers. */
function chosenType(
  wanted: GgufType,
  name: string,
  layers: number,
  isTied: boolean,
): NumberTypeName {
  const isHead = name === HEAD || (name === EMBEDDING && isTied);
  if (wanted === "q4_0") return isHead || name === EMBEDDING ? "q8_0" : wanted;
  if (wanted !== "q4_k_m") return wanted;
  const [, layer, module] = /\.(\d+)\..*\.(v_proj|down_proj)\.weight$/.exec(name) ?? [];
  return isHead || (module && needsMoreBits(Number(layer), layers)) ? "q6_k" : "q4_k";
}

/** The first and last eighth of the layers, and every third between. */
function needsMoreBits(layer: number, layers: number): boolean {
  const eighth = Math.floor(layers / 8);
  const isEnd = layer < eighth || layer >= Math.floor((7 * layers) / 8);
  return isEnd || (layer - eighth) % 3 === 2;
}
