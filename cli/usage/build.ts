import type { Command } from "commander";
import { DEFAULT_ENTRY } from "../../protocol/entry.ts";
import type { build } from "../commands/build.ts";
import { examples } from "./examples.ts";
import { projectOption } from "./values.ts";

export function addBuild(program: Command): void {
  program
    .command("build")
    .description(`bundle ${DEFAULT_ENTRY} into .kit/build/index.mjs`)
    .argument("[entry]", "bundle this file instead")
    .addOption(projectOption())
    .addHelpText(
      "after",
      examples({
        "kit build": "bundle your edits for the next kit start",
        "kit build src/kit/long.ts": "bundle another file beside the default bundle",
      }),
    )
    .action(async (...input: Parameters<typeof build>) => {
      const { build } = await import("../commands/build.ts");
      await build(...input);
    });
}
