import type { Command } from "commander";
import type { attach } from "../commands/attach.ts";
import { examples } from "./examples.ts";
import { projectOption } from "./values.ts";

export function addAttach(program: Command): void {
  program
    .command("attach")
    .description("follow a job that trains on other machines")
    .argument("<job>", 'a job id or its prefix, or "latest"')
    .addOption(projectOption())
    .addHelpText(
      "after",
      examples({
        "kit attach latest": "follow the newest job, from where its log ends",
      }),
    )
    .action(async (...input: Parameters<typeof attach>) => {
      const { attach } = await import("../commands/attach.ts");
      await attach(...input);
    });
}
