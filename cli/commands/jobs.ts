import { assertReadableJobs } from "../../jobs/jobFile.ts";
import { summarizeJob } from "../../jobs/jobSummary.ts";
import { createJobStore } from "../../jobs/store.ts";
import { KitError } from "../../protocol/error.ts";
import { type Job, JOB_STATUSES, lastReported } from "../../protocol/job.ts";
import { printable } from "../../protocol/printable.ts";
import { findJob, noJob } from "../../sdk/models/reference.ts";
import { Option, createCommand, parseFolder, projectOption } from "../command.ts";
import { compareJobs, comparisonLines } from "../jobs/comparison.ts";
import { exportCurves } from "../jobs/exportCurves.ts";
import { enterProject } from "../project/folder.ts";
import { modelProject } from "../project/modelProject.ts";
import { openJsonOutput } from "../terminal/json.ts";
import { print, printError } from "../terminal/print.ts";

const STATUS_WIDTH = Math.max(...JOB_STATUSES.map((status) => status.length));

/**
 * Prints the jobs that the page lists, newest first, or two of them side by side.
 * @throws KitError `CANNOT_READ` when all are another user's; `JOB_NOT_FOUND`, `USAGE_INVALID`
 */
export const command = createCommand("jobs", {
  "kit jobs": "status, id, local time and name of every job",
  "kit jobs | grep ^failed": "the jobs that failed",
  "kit jobs --compare 20261123 latest": "how two jobs differ in options and results",
  "kit jobs --tensorboard runs": "every job's curves, for TensorBoard",
})
  .option("--compare <jobs...>", 'two jobs side by side: ids, their prefixes or "latest"')
  .addOption(
    new Option("--tensorboard <folder>", "write all jobs for TensorBoard, each into its own folder")
      .argParser(parseFolder)
      .conflicts("compare"),
  )
  .option("--json", "print JSON, and nothing else")
  .addOption(projectOption())
  .action(({ project: folder, compare, tensorboard, json }) => {
    const printJson = json && openJsonOutput();
    const project = enterProject(folder);
    if (tensorboard !== undefined) {
      const { path, jobs } = exportCurves(project, tensorboard);
      if (printJson) return printJson({ path, jobs });
      const written = jobs === 1 ? "1 job" : `${jobs} jobs`;
      return print(
        `wrote ${written} to ${tensorboard}; to see the curves: tensorboard --logdir ${tensorboard}`,
      );
    }
    if (compare) {
      const compared = compareJobs(...summaries(project, compare));
      return printJson ? printJson(compared) : print(comparisonLines(compared).join("\n"));
    }
    const jobs = createJobStore(project).list();
    if (jobs.length === 0) assertReadableJobs(project);
    if (printJson) return printJson(jobs);
    if (jobs.length > 0) return print(jobs.map(jobLine).join("\n"));
    printError(`no jobs in ${project} yet; kit start trains one`);
  });

function summaries(project: string, names: readonly string[]) {
  const [first, second, ...rest] = names.map((name) => {
    const job = findJob(project, name);
    if (!job) throw noJob(modelProject(project), name, "job");
    return summarizeJob(project, job);
  });
  if (first && second && rest.length === 0) return [first, second] as const;
  throw new KitError("USAGE_INVALID", "Name two jobs: kit jobs --compare 20261123 latest.");
}

/** The name comes near the end, because its width varies. */
function jobLine({ id, name, status, createdAt, lastHeardAt }: Job): string {
  const parts = [status.padEnd(STATUS_WIDTH), id, localTime(createdAt), printable(name)];
  if (lastHeardAt !== undefined) parts.push(lastReported(lastHeardAt));
  return parts.join("  ");
}

/** Such as `2026-11-22 00:30`. */
function localTime(createdAt: string): string {
  const time = new Date(createdAt);
  if (Number.isNaN(time.getTime())) return "????-??-?? ??:??";
  const [date, hour, minute] = [
    [time.getFullYear(), time.getMonth() + 1, time.getDate()].map(twoDigits).join("-"),
    ...[time.getHours(), time.getMinutes()].map(twoDigits),
  ];
  return `${date} ${hour}:${minute}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
