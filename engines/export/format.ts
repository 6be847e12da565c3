import type { GgufType } from "../../protocol/exportFormat.ts";
import type { PartialDirectory } from "../checkpoint/directory.ts";

export interface FormatOptions {
  /** The exported model's name. */
  name: string;
  /** Type of the matrices. Default: the model's own. */
  type?: GgufType;
  /** The system message that the model was trained with. */
  system?: string | undefined;
  /** Whether to write the adapter without its base. */
  adapterOnly?: boolean;
}

/** Writes models in one format. */
export interface ExportFormat {
  /** The file that completes the folder; in an existing folder, it is written last. */
  mainFile: (options: FormatOptions) => string;
  /**
   * Writes all files of a model and flushes them.
   * @param checkpoint directory of a model, or of an adapter whose base is on this disk
   * @param to a folder that replaces the target once it is whole
   * @param options `pause` is awaited between blocks; it throws once the export is aborted. `onNote`
   * receives a warning about what the files omit
   * @returns the weights' size in bytes
   */
  write: (
    checkpoint: string,
    to: PartialDirectory,
    options: FormatOptions & { pause: () => Promise<void>; onNote: (text: string) => void },
  ) => Promise<number>;
}
