import type { Command } from "commander";
import type { exportJob } from "../commands/export.ts";
import { examples } from "./examples.ts";
import { projectOption } from "./values.ts";

export function addExport(program: Command): void {
  program
    .command("export")
    .description("write a trained model as a folder that other tools load")
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
    .action(async (...input: Parameters<typeof exportJob>) => {
      const { exportJob } = await import("../commands/export.ts");
      await exportJob(...input);
    });
}
