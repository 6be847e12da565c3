import { join, resolve } from "node:path";
import { readJobConfig } from "../../jobs/jobFile.ts";
import { readCurve } from "../../jobs/metricEvents.ts";
import { jobsPath } from "../../jobs/paths.ts";
import { createJobStore } from "../../jobs/store.ts";
import { openReport } from "../../jobs/tensorboard/report.ts";
import { cannotWrite, isKitError } from "../../protocol/error.ts";
import { COMMAND_FOLDER } from "../project/folder.ts";

/**
 * Writes each job's curves into a folder that is named by its id, for TensorBoard.
 * @returns the folder's absolute path, and how many jobs were written
 * @throws KitError `CANNOT_WRITE`, `CANNOT_READ`
 */
export function exportCurves(project: string, folder: string) {
  const root = jobsPath(project);
  const target = resolve(COMMAND_FOLDER, folder);
  const jobs = createJobStore(project).list();
  for (const { id } of jobs) {
    const path = join(target, id);
    try {
      const report = openReport(path, readJobConfig(join(root, id)) ?? {});
      for (const event of readCurve(root, id)) report.add(event);
      report.close();
    } catch (error) {
      throw isKitError(error) ? error : cannotWrite(`write ${path}`, error);
    }
  }
  return { path: target, jobs: jobs.length };
}
