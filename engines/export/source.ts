import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hasOwnHead, weightFiles } from "../checkpoint/savedModel.ts";
import { promptStyleOf, tokenizerSettings } from "../checkpoint/savedTokenizer.ts";
import { configCopies, tokenizerCopies } from "../checkpoint/sidecarFiles.ts";
import { directoryTexts, inMemoryTexts } from "../checkpoint/textFiles.ts";
import { TIED } from "../families/config.ts";
import { modelNames } from "../families/storedNames.ts";
import { findAdapter } from "../lora/base.ts";
import { merged, openUpdates } from "../lora/updates.ts";
import { readConfig } from "../modelFiles/configFile.ts";
import { fileTensors } from "../modelFiles/fileTensors.ts";
import { CONFIG_FILE, WEIGHTS_INDEX } from "../modelFiles/names.ts";
import { type SafetensorsFile, openSafetensors } from "../modelFiles/safetensors.ts";
import { renamed } from "../modelFiles/tensorFiles.ts";
import type { TensorSource } from "../modelFiles/tensors.ts";

/** A whole model to export. An adapter is merged as its tensors are read. */
export interface ExportSource {
  /** Directory of the whole model. */
  model: string;
  /** All files but the weights: the model's config, and the tokenizer as trained. */
  sidecarFiles: Record<string, string | Uint8Array>;
  /** Weight files, in the index's order. */
  files: SourceFile[];
}

export interface SourceFile extends SafetensorsFile {
  /** Its tensors with the adapter merged, not rounded to the file's types. */
  weights: TensorSource;
}

/**
 * @param checkpoint directory of a model, or of an adapter whose base is on this disk
 * @throws KitError `CHECKPOINT_INVALID`
 */
export function openSource(checkpoint: string): ExportSource {
  const adapter = findAdapter(checkpoint);
  const model = adapter?.base ?? checkpoint;
  const { label, files: paths } = weightFiles(model);
  const files = paths.map((path) => openSafetensors(path));
  const updates = adapter
    ? openUpdates(checkpoint, adapter, { directory: model, files })
    : new Map<string, never>();
  const hasTokenizer = existsSync(join(checkpoint, "tokenizer.json"));
  const tokenizerFolder = hasTokenizer ? checkpoint : model;
  const tokenizer = tokenizerCopies(tokenizerFolder, promptStyleOf(directoryTexts(checkpoint)));
  const unchanged = inMemoryTexts(model, {
    ...configCopies(model, { stopTokens: [] }),
    ...tokenizer,
  });
  const { stopTokens } = tokenizerSettings(unchanged);
  const index = join(model, WEIGHTS_INDEX);
  return {
    model,
    sidecarFiles: {
      ...configCopies(model, {
        stopTokens: stopTokens.all,
        ...(isUntied(model, files) && { changes: { [TIED]: false } }),
      }),
      ...tokenizer,
      ...(label === index && { [WEIGHTS_INDEX]: readFileSync(index) }),
    },
    files: files.map((file) => ({
      ...file,
      weights: merged(fileTensors(file.tensors), updates, file.path),
    })),
  };
}

/** Whether a model has its own head although its config ties it. Not every program detects this. */
function isUntied(model: string, files: readonly SafetensorsFile[]): boolean {
  const stored = new Map(files.flatMap(({ tensors }) => [...tensors]));
  const { [TIED]: tied } = readConfig(join(model, CONFIG_FILE));
  return tied !== false && hasOwnHead(renamed(stored, modelNames(new Set(stored.keys()), false)));
}
