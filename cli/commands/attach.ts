import { assertRemote, assertReadable } from "../../jobs/remote/takeJob.ts";
import { findJob, noJob } from "../../sdk/models/reference.ts";
import { createCommand, projectOption } from "../command.ts";
import { followJob } from "../jobs/followJob.ts";
import { enterProject } from "../project/folder.ts";
import { modelProject } from "../project/modelProject.ts";

/**
 * Follows a remote job from the end of its log.
 * @throws KitError `JOB_NOT_FOUND`, `JOB_ENDED`, `JOB_TAKEN`, `CANNOT_ATTACH`, `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
 */
export const command = createCommand("attach", {
  "kit attach latest": "follow the newest job, from where its log ends",
})
  .argument("<job>", 'a job id or its prefix, or "latest"')
  .addOption(projectOption())
  .action(async (jobName, options) => {
    const project = enterProject(options.project);
    const job = findJob(project, jobName);
    if (!job) {
      assertReadable(project, jobName);
      throw noJob(modelProject(project), jobName, "job");
    }
    assertRemote(project, job.id);
    process.exit(await followJob(project, job.id));
  });
