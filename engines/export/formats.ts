import type { ExportFormatName } from "../../protocol/exportFormat.ts";
import type { ExportFormat } from "./format.ts";
import { gguf } from "./gguf.ts";
import { safetensors } from "./safetensors.ts";

/** By their names. */
export const FORMATS: Record<ExportFormatName, ExportFormat> = { safetensors, gguf };
