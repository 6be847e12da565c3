import { tellServer } from "../../jobs/remote/followerMessage.ts";
import { describeEarlyExit } from "../../protocol/entry.ts";
import { KitError } from "../../protocol/error.ts";
import type { DrivenTrainer } from "../../sdk/trainer.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { freeSignalsInLoops } from "../process/freeSignals.ts";
import { reportError } from "../terminal/errors.ts";
import { printError } from "../terminal/print.ts";
import { describeError, onUncaught } from "./describeError.ts";
import { exposedTrainer, loadProject } from "./loadTrainer.ts";
import { missingTrainer } from "./missingTrainer.ts";

/**
 * Imports a bundle, whose code may end this process; the reason is then printed.
 * @param entry the bundle's source, as errors name it
 * @throws KitError `NO_TRAINER`, `IMPORT_FAILED`, `IMPORT_STUCK`, `KIT_VERSION`
 */
export async function loadEntry(
  bundle: string,
  entry: string,
  explain: (code: number) => void = (code) => explainExit(entry, code),
): Promise<DrivenTrainer> {
  const uncaught = onUncaught((thrown) => {
    process.off("exit", explain);
    process.exit(reportError(new Error(describeError(thrown), { cause: thrown })));
  });
  process.once("exit", explain);
  try {
    const exports = await loadProject(bundle, entry);
    const trainer = exposedTrainer(exports);
    if (!trainer) throw new KitError("NO_TRAINER", missingTrainer(exports, entry));
    freeSignalsInLoops();
    return trainer as DrivenTrainer;
  } finally {
    process.off("exit", explain);
    uncaught.stop();
  }
}

export function explainExit(entry: string, code: number): void {
  // For an unsettled await, Node passes another code than it sets.
  const why = describeEarlyExit(entry, Number(process.exitCode ?? code));
  printError(`kit: ${why}`);
  tellServer({ kind: "refused", text: why });
  process.exitCode = EXIT_CODE.failed;
}
