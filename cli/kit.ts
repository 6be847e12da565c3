#!/usr/bin/env node
import { Command, CommanderError } from "commander";
import { VERSION } from "../protocol/version.ts";
import { reportError } from "./errors.ts";
import { EXIT_CODE } from "./exitCode.ts";
import { keepHangupIgnored } from "./hangup.ts";
import { watchOutput } from "./lostOutput.ts";
import { addAttach } from "./usage/attach.ts";
import { addBuild } from "./usage/build.ts";
import { addCheck } from "./usage/check.ts";
import { examples } from "./usage/examples.ts";
import { addExport } from "./usage/export.ts";
import { addInfer } from "./usage/infer.ts";
import { addInit } from "./usage/init.ts";
import { addJobs } from "./usage/jobs.ts";
import { addManifest } from "./usage/manifest.ts";
import { addModels } from "./usage/models.ts";
import { addPython } from "./usage/python.ts";
import { addStart } from "./usage/start.ts";
import { addUi } from "./usage/ui.ts";

keepHangupIgnored();

const program = new Command("kit")
  .description("Train a model the way you ship your app.")
  .version(VERSION)
  .exitOverride()
  .addHelpText(
    "after",
    examples({
      "kit init dates": "create a project and print the next step",
      "kit ui": "open the project's page and start runs there",
      "kit start": "train in the terminal",
      'kit infer latest "7th of March 1998"': "ask the newest job's model",
    }),
  );

// Each imports its command when it runs, so that `kit --help` loads none of them.
for (const add of [
  addInit,
  addBuild,
  addCheck,
  addStart,
  addAttach,
  addUi,
  addJobs,
  addInfer,
  addExport,
  addModels,
  addPython,
  addManifest,
]) {
  add(program);
}

watchOutput();

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed the error. It also throws for --help and --version.
    process.exitCode = error.exitCode === 0 ? EXIT_CODE.completed : EXIT_CODE.wrongUse;
  } else {
    process.exitCode = reportError(error);
  }
}
