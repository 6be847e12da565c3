import type { PartialDirectory } from "../checkpoint/directory.ts";
import type { ExportSource } from "./source.ts";

/** How an exported model is written. */
export interface ExportFormat {
  /**
   * Writes all files of a model, whole and flushed to the disk.
   * @param to a folder that takes the target's place once it is whole
   * @param pause is awaited between blocks; it throws once nobody wants the export any more
   * @returns the bytes of the weights
   */
  write: (
    source: ExportSource,
    to: PartialDirectory,
    pause: () => Promise<void>,
  ) => Promise<number>;
}
