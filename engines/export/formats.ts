import type { ExportFormat } from "./format.ts";
import { safetensors } from "./safetensors.ts";

/** By their names. */
export const FORMATS = { safetensors } satisfies Record<string, ExportFormat>;

export type FormatName = keyof typeof FORMATS;
