import type { Command } from "commander";
import { DEFAULT_ENTRY } from "../../protocol/entry.ts";
import type { check } from "../commands/check.ts";
import { examples } from "./examples.ts";
import { projectOption } from "./values.ts";

export function addCheck(program: Command): void {
  program
    .command("check")
    .description("read the data and options, and print what a training would do")
    .argument("[entry]", `check this file instead of ${DEFAULT_ENTRY}`)
    .addOption(projectOption())
    .addHelpText(
      "after",
      examples({
        "kit check": "check your latest edits; trains nothing",
        "kit check && kit build && kit start": "train only what passes",
      }),
    )
    .action(async (...input: Parameters<typeof check>) => {
      const { check } = await import("../commands/check.ts");
      await check(...input);
    });
}
