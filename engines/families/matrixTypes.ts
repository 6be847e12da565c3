import type { GgufType } from "../../protocol/exportFormat.ts";
import { type NumberTypeName, NUMBER_TYPES } from "../modelFiles/numberTypes.ts";
import { EMBEDDING, HEAD } from "./projections.ts";

/** llama.cpp's number of a file that is mostly of a type: `general.file_type`. */
export const FILE_TYPES: Record<GgufType, number> = { f32: 0, f16: 1, q4_0: 2, q8_0: 7, bf16: 32 };

/**
 * What a matrix becomes in a file of a type. llama.cpp's own choice: float16 for rows that are not whole blocks, a
 * finer type for the embedding and the head.
 */
export function matrixType(wanted: GgufType, name: string, columns: number): NumberTypeName {
  if (columns % NUMBER_TYPES[wanted].block !== 0) return "f16";
  return wanted === "q4_0" && (name === EMBEDDING || name === HEAD) ? "q8_0" : wanted;
}
