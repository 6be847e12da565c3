import { DEFAULT_ENTRY } from "../../protocol/entry.ts";
import type { ModelProject } from "../../sdk/models/reference.ts";
import { COMMAND_FOLDER } from "./folder.ts";
import { kitCommand } from "./kitCommand.ts";

/** A project to look up models in. Loads its code only when needed. */
export function modelProject(
  directory: string,
  onNote: (text: string) => void = () => {},
): ModelProject {
  return {
    directory,
    userFolder: COMMAND_FOLDER,
    onNote,
    kit: (words) => kitCommand(directory, words),
    async engine() {
      const { ensureBundle } = await import("./bundle.ts");
      const { loadEntry } = await import("./loadEntry.ts");
      const driver = await import("../../sdk/trainer.ts");
      const bundle = await ensureBundle(directory, undefined, () => undefined);
      return (await loadEntry(bundle, DEFAULT_ENTRY))[driver.DRIVER].prepared.engine;
    },
  };
}
