import { basename, isAbsolute, resolve } from "node:path";
import { isRemoteArtifact } from "../../jobs/artifactFiles.ts";
import { createJobFiles } from "../../jobs/jobFile.ts";
import { formatCount } from "../../protocol/format.ts";
import { printableNote } from "../../protocol/printable.ts";
import { exportModel } from "../../sdk/engine.ts";
import { type Fetching, downloadArtifact } from "../../sdk/runner/downloadArtifact.ts";
import { findArtifact } from "../../sdk/runner/findArtifact.ts";
import { showPath } from "../bundle.ts";
import { createCommand, examples, projectOption } from "../command.ts";
import { EXIT_CODE } from "../exitCode.ts";
import { onEndingSignal } from "../hangup.ts";
import { findEngine } from "../infer/findEngine.ts";
import { findModel } from "../infer/findModel.ts";
import { kitCommand } from "../kitCommand.ts";
import { print } from "../print.ts";
import { enterProject } from "../project.ts";
import { pathFrom, shellWord } from "../shell.ts";

/**
 * Writes a job's model as a folder that stands by itself; an adapter is merged into its base. Takes
 * the checkpoint that `kit infer` asks.
 * @throws KitError `JOB_NOT_FOUND`, `CHECKPOINT_INVALID`, `CHECKPOINT_UNWRITABLE`, `CANNOT_WRITE`
 */
export const command = createCommand("export")
  .argument("<model>", 'a job id or its prefix, "latest", or a checkpoint folder')
  .argument("[dir]", "an empty or new folder; default: the job's name")
  .addOption(projectOption())
  .addHelpText(
    "after",
    examples({
      "kit export latest": "merge the newest job's adapter into its base",
      "kit export latest ../models/tickets": "write it elsewhere",
    }),
  )
  .action(async (named, folder, options) => {
    const project = enterProject(options.project);
    const onNote = (text: string) => print(printableNote(text));
    const directory = findModel(project, named, onNote);
    const checkpoint = findArtifact(directory);
    const target = resolve(folder ?? defaultFolder(directory));
    let engine: Fetching | undefined;
    const abort = new AbortController();
    const { signal } = abort;
    const ending = onEndingSignal(() => abort.abort());
    try {
      if (isRemoteArtifact(checkpoint)) {
        engine = (await findEngine(project, directory)) ?? {};
        await downloadArtifact(engine, { directory: checkpoint, signal, onNote });
      }
      print(`exporting ${showPath(project, checkpoint)}`);
      const bytes = await exportModel(checkpoint, target, { signal, onNote });
      print(
        `exported to ${showPath(project, target)}, ${formatCount(bytes / 1e6)} MB; try it: ${kitCommand(project, `infer ${asked(target)}`)}`,
      );
    } catch (error) {
      if (!signal.aborted) throw error;
      process.exitCode = EXIT_CODE.cancelled;
    } finally {
      ending.stop();
    }
    // The project's code, if it ran, may have left something open.
    if (engine) process.exit();
  });

/** Named as the job, as far as a folder can be; or as the checkpoint's folder. */
function defaultFolder(directory: string): string {
  const name = createJobFiles().read(directory)?.name ?? "";
  const allowed = name.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").replaceAll(/^[.-]+|[.-]+$/g, "");
  return allowed || basename(directory);
}

/** As `kit infer` takes a folder for one, and not for a job. */
function asked(target: string): string {
  const path = pathFrom(process.cwd(), target);
  return shellWord(isAbsolute(path) ? path : `./${path}`);
}
