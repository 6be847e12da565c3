import { KitError } from "../../protocol/error.ts";
import { describeEarlyExit } from "../../protocol/manifest.ts";
import { NO_TRAINER } from "../../protocol/texts.ts";
import type { ObservableTrainer, Trainer } from "../../sdk/trainer.ts";
import { OBSERVE } from "../../sdk/trainer.ts";
import { ensureBundle, showPath } from "../bundle.ts";
import { reportError } from "../errors.ts";
import { loadTrainer } from "../load.ts";
import { createProgress } from "../progress.ts";
import { enterProject } from "../project.ts";

const EXIT_FAILED = 1;
const EXIT_CANCELLED = 130;

export async function start(
  entry: string | undefined,
  options: { project: string },
): Promise<void> {
  const project = enterProject(options.project);
  const bundle = await ensureBundle(project, entry);
  const trainer = await loadOrExplain(bundle);
  if (!trainer) throw new KitError("NO_TRAINER", NO_TRAINER);
  const isTold = printEvents(trainer, project);
  // Called again while the job is ending, it changes nothing.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => void trainer.cancel());
  }
  // Whatever the project's code leaves open does not keep a finished job's process alive.
  process.exit(await exitCodeOf(trainer, isTold));
}

/** Loading runs the project's code, which may end this process before it is done. */
async function loadOrExplain(bundle: string): Promise<Trainer | null> {
  const explain = (code: number) => {
    console.error(`kit: ${describeEarlyExit(code)}`);
    process.exitCode = EXIT_FAILED;
  };
  process.once("exit", explain);
  try {
    return await loadTrainer(bundle);
  } finally {
    process.off("exit", explain);
  }
}

/** Returns whether the job's end has been printed. */
function printEvents(trainer: Trainer, project: string): () => boolean {
  let progress: ReturnType<typeof createProgress> | undefined;
  let isFailureTold = false;
  (trainer as ObservableTrainer)[OBSERVE]({
    onCreated({ job, directory }) {
      progress = createProgress({ directory: showPath(project, directory) });
      console.log(`job ${job.id} ${job.name}`);
    },
    onEvent(event) {
      const line = progress?.line(event) ?? "";
      if (event.event === "training.failed") {
        isFailureTold = true;
        console.error(line);
      } else {
        console.log(line);
      }
    },
  });
  return () => isFailureTold;
}

async function exitCodeOf(trainer: Trainer, isTold: () => boolean): Promise<number> {
  try {
    const { job } = await trainer.wait();
    return job.status === "cancelled" ? EXIT_CANCELLED : 0;
  } catch (error) {
    if (!isTold()) return reportError(error);
    if (process.env.DEBUG === "kit") console.error(error);
    return EXIT_FAILED;
  }
}
