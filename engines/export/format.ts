import type { GgufType } from "../../protocol/exportFormat.ts";
import type { PartialDirectory } from "../checkpoint/directory.ts";

/** What is asked of a format, besides the model. */
export interface FormatOptions {
  /** What to name the model. */
  name: string;
  /** Type of the matrices. Default: the model's own. */
  type?: GgufType;
  /** The system message of its training. */
  system?: string | undefined;
  /** Whether the adapter alone is wanted. */
  adapterOnly?: boolean;
}

/** How an exported model is written. */
export interface ExportFormat {
  /** The file that makes the folder a model. In an existing folder, it is written last. */
  mainFile: (options: FormatOptions) => string;
  /**
   * Writes all files of a model, whole and flushed to the disk.
   * @param checkpoint directory of a model, or of an adapter whose base is on this disk
   * @param to a folder that takes the target's place once it is whole
   * @param options `pause` is awaited between blocks; it throws once nobody wants the export any more.
   * `onNote` takes a line on what the files cannot do
   * @returns the bytes of the weights
   */
  write: (
    checkpoint: string,
    to: PartialDirectory,
    options: FormatOptions & { pause: () => Promise<void>; onNote: (text: string) => void },
  ) => Promise<number>;
}
