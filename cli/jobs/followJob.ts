import { reportToUi } from "../../jobs/remote/followerMessage.ts";
import { DEFAULT_ENTRY } from "../../protocol/entry.ts";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { ensureBundle } from "../project/bundle.ts";
import { explainExit, loadEntry } from "../project/loadEntry.ts";
import { printError } from "../terminal/print.ts";
import { exitOnSignals, createJobRun } from "./jobRun.ts";

/**
 * Follows a remote job with the project's trainer.
 * @param onAttached called with the trainer once this process owns the job
 * @returns the exit code
 * @throws KitError as a trainer's `attach`
 */
export async function followJob(
  project: string,
  id: string,
  onAttached: (trainer: DrivenTrainer) => void = () => {},
): Promise<number> {
  const explain = (code: number) => explainExit(DEFAULT_ENTRY, code);
  const earlySignals = exitOnSignals(explain);
  const bundle = await ensureBundle(project, undefined, (message) => {
    printError(`kit: ${message}`);
    reportToUi({ kind: "warning", text: message });
  });
  const trainer = await loadEntry(bundle, DEFAULT_ENTRY, explain);
  const run = createJobRun({ trainer, project });
  await trainer[DRIVER].attach(id);
  run.handleSignals();
  earlySignals.stop();
  onAttached(trainer);
  return run.exitCode();
}
