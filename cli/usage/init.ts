import { type Command, Option } from "commander";
import type { init } from "../commands/init.ts";
import { TEMPLATES } from "../init/templates.ts";
import { examples } from "./examples.ts";

export function addInit(program: Command): void {
  program
    .command("init")
    .description("create a project that is ready to train")
    .argument("[dir]", "project folder", ".")
    .option("--name <name>", "package name (default: the folder's name)")
    .addOption(
      new Option("--template <name>", "what the project trains")
        .choices(TEMPLATES)
        .default("quickstart"),
    )
    .addHelpText(
      "after",
      examples({
        "kit init dates": "create a project in dates/, which trains a small model from scratch",
        "kit init tickets --template finetune":
          "create a project that fine-tunes an open model from the Hugging Face hub",
        "kit init": "add Kit to the current folder; overwrites nothing",
        "kit init dates --name my-dates": "choose another package name",
      }),
    )
    .action(async (...input: Parameters<typeof init>) => {
      const { init } = await import("../commands/init.ts");
      init(...input);
    });
}
