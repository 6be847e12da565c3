import type { Command } from "commander";
import type { infer } from "../commands/infer.ts";
import { examples } from "./examples.ts";
import { parseMaxTokens, parseSeed, parseTemperature, parseTopP, projectOption } from "./values.ts";

export function addInfer(program: Command): void {
  program
    .command("infer")
    .description("ask a trained model")
    .argument("<model>", 'a job id or its prefix, "latest", or a checkpoint folder')
    .argument("[prompt]", "the prompt; omit it to answer each line of stdin")
    .option("--jsonl", "read dataset rows; print each with its answer")
    .option(
      "--max-tokens <n>",
      "maximum tokens per answer (default: the model's context)",
      parseMaxTokens,
    )
    .option(
      "--temperature <n>",
      "0 always takes the likeliest token (default: 0)",
      parseTemperature,
    )
    .option(
      "--top-p <n>",
      "sample from the likeliest tokens whose probabilities add up to this (default: 1)",
      parseTopP,
    )
    .option("--seed <n>", "seed of the sampling (default: 0)", parseSeed)
    .addOption(projectOption())
    .addHelpText(
      "after",
      examples({
        'kit infer latest "7th of March 1998"': "ask the newest job's model",
        "kit infer latest < questions.txt": "answer each line",
        "kit infer latest --jsonl < rows.jsonl": "add an answer to each row",
      }),
    )
    .action(async (...input: Parameters<typeof infer>) => {
      const { infer } = await import("../commands/infer.ts");
      await infer(...input);
    });
}
