import type { Command } from "commander";
import { examples } from "./examples.ts";

export function addModels(program: Command): void {
  program
    .command("models")
    .description("list the Hugging Face models cached on this machine")
    .addHelpText(
      "after",
      examples({
        "kit models": "whether each can be trained, its parameters, size, architecture and name",
        "kit models | grep ^trainable": "those that can be trained here",
      }),
    )
    .action(async () => {
      const { models } = await import("../commands/models.ts");
      await models();
    });
}
