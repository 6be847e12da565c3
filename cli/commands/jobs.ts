import { assertReadableJobs } from "../../jobs/jobFile.ts";
import { createJobStore } from "../../jobs/store.ts";
import { type Job, JOB_STATUSES } from "../../protocol/job.ts";
import { lastHeard } from "../../protocol/lastHeard.ts";
import { printable } from "../../protocol/printable.ts";
import { createCommand, examples, projectOption } from "../command.ts";
import { print, printError } from "../print.ts";
import { enterProject } from "../project.ts";

const STATUS_WIDTH = Math.max(...JOB_STATUSES.map((status) => status.length));

/**
 * Prints the jobs that the page lists, newest first.
 * @throws KitError `CANNOT_READ` when there are only another user's
 */
export const command = createCommand("jobs")
  .addOption(projectOption())
  .addHelpText(
    "after",
    examples({
      "kit jobs": "status, id, local time and name of every job",
      "kit jobs | grep ^failed": "the jobs that failed",
    }),
  )
  .action((options) => {
    const project = enterProject(options.project);
    const lines = createJobStore(project).list().map(jobLine);
    if (lines.length > 0) return print(lines.join("\n"));
    assertReadableJobs(project);
    printError(`no jobs in ${project} yet; kit start trains one`);
  });

/** Name near the end: its width varies. */
function jobLine({ id, name, status, createdAt, lastHeardAt }: Job): string {
  const parts = [status.padEnd(STATUS_WIDTH), id, localTime(createdAt), printable(name)];
  if (lastHeardAt !== undefined) parts.push(lastHeard(lastHeardAt));
  return parts.join("  ");
}

/** As `2026-11-22 00:30`. */
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
