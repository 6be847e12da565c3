import { join } from "node:path";
import { installedKit } from "../packages/kitPackage.ts";
import { detectPackageManager, runKitCommand } from "../packages/manager.ts";
import { pathFrom, shellWord } from "../terminal/shell.ts";
import { userFolder } from "./folder.ts";

/**
 * A `kit` command line for a project, to run in the folder where the user typed the command.
 * @param words a `kit` command and its arguments, quoted for a shell
 */
export function kitCommand(project: string, words: string): string {
  const currentFolder = userFolder();
  const folder = shellWord(pathFrom(currentFolder, project));
  if (folder === "") return `${kitIn(currentFolder)} ${words}`;
  const runsHere = hasKit(currentFolder) || !hasKit(project);
  return runsHere
    ? `${kitIn(currentFolder)} ${words} --project ${folder}`
    : `cd ${folder} && ${kitIn(project)} ${words}`;
}

/** Adapts the SDK's commands to the folder where the user typed the command. */
export function adaptCommands(project: string, sentence: string): string {
  return sentence.replace(/\bnpx kit ((?:attach|cancel) \S+|start --resume)/g, (_, words: string) =>
    kitCommand(project, words),
  );
}

function kitIn(folder: string): string {
  const { manager } = detectPackageManager(folder);
  // Where the package is installed, npx downloads no other.
  return manager === "npm" ? "npx kit" : runKitCommand(manager);
}

function hasKit(folder: string): boolean {
  return installedKit(join(folder, "package.json")) === "kit";
}
