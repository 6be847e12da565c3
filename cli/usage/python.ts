import type { Command } from "commander";
import type { installPython } from "../commands/python.ts";
import { examples } from "./examples.ts";
import { projectOption } from "./values.ts";

export function addPython(program: Command): void {
  program
    .command("python")
    .description("the Python of engine: python()")
    .command("install")
    .description("make .kit/python: torch, transformers, peft and accelerate, as Kit tests them")
    .addOption(projectOption())
    .addHelpText(
      "after",
      examples({ "kit python install": "make it by uv if it is there, else by venv and pip" }),
    )
    .action(async (...input: Parameters<typeof installPython>) => {
      const { installPython } = await import("../commands/python.ts");
      installPython(...input);
    });
}
