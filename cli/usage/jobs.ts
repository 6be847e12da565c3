import type { Command } from "commander";
import type { jobs } from "../commands/jobs.ts";
import { examples } from "./examples.ts";
import { projectOption } from "./values.ts";

export function addJobs(program: Command): void {
  program
    .command("jobs")
    .description("list the project's jobs, newest first")
    .addOption(projectOption())
    .addHelpText(
      "after",
      examples({
        "kit jobs": "status, id, local time and name of every job",
        "kit jobs | grep ^failed": "the jobs that failed",
      }),
    )
    .action(async (...input: Parameters<typeof jobs>) => {
      const { jobs } = await import("../commands/jobs.ts");
      jobs(...input);
    });
}
