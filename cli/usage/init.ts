import type { Command } from "commander";
import type { init } from "../commands/init.ts";
import { examples } from "./examples.ts";

export function addInit(program: Command): void {
  program
    .command("init")
    .description("create a project that is ready to train: a date normalizer")
    .argument("[dir]", "project folder", ".")
    .option("--name <name>", "package name (default: the folder's name)")
    .addHelpText(
      "after",
      examples({
        "kit init dates": "create a project in dates/",
        "kit init": "add Kit to the current folder; overwrites nothing",
        "kit init dates --name my-dates": "choose another package name",
      }),
    )
    .action(async (...input: Parameters<typeof init>) => {
      const { init } = await import("../commands/init.ts");
      init(...input);
    });
}
