import type { Command } from "commander";
import type { manifest } from "../commands/manifest.ts";
import { projectOption } from "./values.ts";

export function addManifest(program: Command): void {
  program
    .command("manifest", { hidden: true })
    .addOption(projectOption())
    .action(async (...input: Parameters<typeof manifest>) => {
      const { manifest } = await import("../commands/manifest.ts");
      await manifest(...input);
    });
}
