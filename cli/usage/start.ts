import type { Command } from "commander";
import { DEFAULT_ENTRY } from "../../protocol/entry.ts";
import type { start } from "../commands/start.ts";
import { examples } from "./examples.ts";
import { projectOption } from "./values.ts";

export function addStart(program: Command): void {
  program
    .command("start")
    .description("train; builds .kit/build/index.mjs only if it is missing")
    .argument("[entry]", `build and train this file instead of ${DEFAULT_ENTRY}`)
    .option("--resume", "resume the newest failed or cancelled job")
    .option("--detach", "return once the job runs on other machines")
    .addOption(projectOption())
    .addHelpText(
      "after",
      examples({
        "kit start": "train the last build",
        "kit build && kit start": "train your latest edits",
        "kit start --resume": "continue the last failed or cancelled job",
        "kit start src/kit/long.ts": "build and train another file",
        "kit start --project ../dates | tee run.txt": "train another project and keep its output",
      }),
    )
    .action(async (...input: Parameters<typeof start>) => {
      const { start } = await import("../commands/start.ts");
      await start(...input);
    });
}
