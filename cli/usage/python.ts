import type { Command } from "commander";
import type { installPython } from "../commands/python.ts";
import { examples } from "./examples.ts";
import { projectOption } from "./values.ts";

export function addPython(program: Command): void {
  program
    .command("python")
    .description("manage the Python environment of engine: python()")
    .command("install")
    .description(
      "install tested versions of torch, transformers, peft and accelerate into .kit/python",
    )
    .addOption(projectOption())
    .addHelpText(
      "after",
      examples({ "kit python install": "use uv if installed, otherwise venv and pip" }),
    )
    .action(async (...input: Parameters<typeof installPython>) => {
      const { installPython } = await import("../commands/python.ts");
      await installPython(...input);
    });
}
