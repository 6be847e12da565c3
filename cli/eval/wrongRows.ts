import { existsSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { cannotWrite } from "../../protocol/cannotWrite.ts";
import { KitError } from "../../protocol/error.ts";
import { formatCounted } from "../../protocol/format.ts";
import { stringifyJson } from "../../protocol/json.ts";
import type { WrongRow } from "../../sdk/metrics/wrongRows.ts";
import { COMMAND_FOLDER } from "../project/folder.ts";

/**
 * A file of rows that a model got wrong, as they train, each with its answer as `got`.
 * @param named relative to where the user is
 * @throws KitError `CANNOT_WRITE` if it is there: its rows may be corrected by now
 */
export function newRowFile(named: string) {
  const path = resolve(COMMAND_FOLDER, named);
  if (existsSync(path)) {
    throw new KitError("CANNOT_WRITE", `${path} already exists. Name another file by --wrong.`);
  }
  return {
    write(wrong: readonly WrongRow[]): void {
      const lines = wrong.map(({ row, answer }) => `${stringifyJson({ ...row, got: answer })}\n`);
      try {
        writeFileSync(path, lines.join(""), { flag: "wx" });
      } catch (error) {
        throw cannotWrite(`write ${path}`, error);
      }
    },
    note: ({ length }: readonly WrongRow[]) =>
      `wrote ${formatCounted(length, "wrong row")} to ${named}`,
  };
}
