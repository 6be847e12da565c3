import { DEFAULT_ENTRY } from "../../protocol/entry.ts";
import { assertRemote, assertReadable } from "../../remote/takeJob.ts";
import { tellServer } from "../../remote/tellServer.ts";
import { DRIVER } from "../../sdk/trainer.ts";
import { ensureBundle } from "../bundle.ts";
import { createCommand, examples, projectOption } from "../command.ts";
import { findJob, noJob } from "../findJob.ts";
import { exitOnSignals, printJob } from "../jobRun.ts";
import { explainExit, loadEntry } from "../loadEntry.ts";
import { printError } from "../print.ts";
import { enterProject } from "../project.ts";

/**
 * Follows a job that runs remotely, from where its log ends.
 * @throws KitError `JOB_NOT_FOUND`, `JOB_ENDED`, `JOB_TAKEN`, `CANNOT_ATTACH`, `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
 */
export const command = createCommand("attach")
  .argument("<job>", 'a job id or its prefix, or "latest"')
  .addOption(projectOption())
  .addHelpText(
    "after",
    examples({
      "kit attach latest": "follow the newest job, from where its log ends",
    }),
  )
  .action(async (named, options) => {
    const explain = (code: number) => explainExit(DEFAULT_ENTRY, code);
    const early = exitOnSignals(explain);
    const project = enterProject(options.project);
    const job = findJob(project, named);
    if (!job) {
      assertReadable(project, named);
      throw noJob(project, named, "job");
    }
    assertRemote(project, job.id);
    const bundle = await ensureBundle(project, undefined, (stale) => {
      printError(`kit: ${stale}`);
      tellServer({ kind: "warning", text: stale });
    });
    const trainer = await loadEntry(bundle, DEFAULT_ENTRY, explain);
    const run = printJob({ trainer, project });
    await trainer[DRIVER].attach(job.id);
    run.heedSignals();
    early.stop();
    process.exit(await run.exitCode());
  });
