import { reportToUi } from "../../jobs/remote/followerMessage.ts";
import { describeEarlyExit, noTrainer } from "../../protocol/entry.ts";
import { KitError } from "../../protocol/error.ts";
import { isTrainer } from "../../sdk/kit.ts";
import type { DrivenTrainer } from "../../sdk/trainer.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { letSignalsEndBlockedProcess } from "../process/watchdog.ts";
import { printFailure } from "../terminal/print.ts";
import { exitOnUncaught } from "./describeError.ts";
import { exposedTrainer, loadProject } from "./loadTrainer.ts";

/**
 * Imports a bundle. If its code ends this process, prints the reason.
 * @param entry the bundle's source, as errors name it
 * @throws KitError `NO_TRAINER`, `IMPORT_FAILED`, `IMPORT_STUCK`, `KIT_VERSION`
 */
export async function loadEntry(
  bundle: string,
  entry: string,
  explain: (code: number) => void = (code) => explainExit(entry, code),
): Promise<DrivenTrainer> {
  const uncaught = exitOnUncaught(explain);
  process.once("exit", explain);
  try {
    const exports = await loadProject(bundle, entry);
    const trainer = exposedTrainer(exports);
    if (!trainer) throw new KitError("NO_TRAINER", missingTrainer(exports, entry));
    letSignalsEndBlockedProcess();
    return trainer as DrivenTrainer;
  } finally {
    process.off("exit", explain);
    uncaught.stop();
  }
}

export function explainExit(entry: string, code: number): void {
  // For an unsettled await, Node's argument differs from process.exitCode.
  const why = describeEarlyExit(entry, Number(process.exitCode ?? code));
  printFailure(`kit: ${why}`);
  reportToUi({ kind: "refused", text: why });
  process.exitCode = EXIT_CODE.failed;
}

/** Why a project's module exposes no trainer, and how to fix it. */
function missingTrainer(exports: Record<string, unknown>, entry: string): string {
  const values = Object.values(exports);
  if (values.some(isTrainer)) {
    return `${entry} exports a trainer without createKit. Write export default createKit({ trainer }).`;
  }
  const uncalled = Object.entries(exports).find(([, value]) => typeof value === "function");
  if (uncalled) {
    const [name, { name: own }] = uncalled as [string, () => unknown];
    return `${entry} exports the function ${name === "default" ? own : name}, which nothing calls. Write export default createKit({ trainer: createTrainer({ … }) }).`;
  }
  if (values.length === 0) {
    return `${entry} exports nothing. Write export default createKit({ trainer }).`;
  }
  return noTrainer(entry);
}
