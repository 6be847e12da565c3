import type { CachedModel } from "../../protocol/engine.ts";
import { formatCount } from "../../protocol/format.ts";
import { printable } from "../../protocol/printable.ts";
import { listCachedModels } from "../../sdk/engine.ts";
import { createCommand } from "../command.ts";
import { print, printError } from "../terminal/print.ts";
import { tableLines } from "../terminal/table.ts";

/** For unknown values. */
const NONE = "-";

/** Prints the Hugging Face models cached on this machine, and why one cannot be trained. */
export const command = createCommand("models", {
  "kit models": "whether each can be trained, its parameters, size, architecture and name",
  "kit models | grep ^trainable": "those that can be trained here",
}).action(async () => {
  const { cache, models } = await listCachedModels();
  if (models.length === 0) {
    printError(`no models in ${cache} yet; a trainer with model: "org/name" downloads one`);
    return;
  }
  for (const [n, line] of tableLines(models.map(cellsOf)).entries()) {
    print(line);
    const { problem } = models[n]!;
    if (problem !== undefined) print(`  ${printable(problem)}`);
  }
});

/** The name comes last, as in the jobs list. */
function cellsOf({ name, bytes, architecture = NONE, parameters, problem }: CachedModel): string[] {
  return [
    problem === undefined ? "trainable" : "refused",
    parameters === undefined ? NONE : compact(parameters),
    `${formatCount(bytes / 1e6)} MB`,
    printable(architecture),
    printable(name),
  ];
}

/** Such as `135M`. */
function compact(count: number): string {
  return count.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
}
