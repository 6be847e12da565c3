import { Command, CommanderError } from "commander";
import { DEFAULT_ENTRY } from "../protocol/entry.ts";
import { KitError } from "../protocol/error.ts";
import { VERSION } from "../protocol/version.ts";
import { examples } from "./command.ts";
import { EXIT_CODE, lastExitCode } from "./process/exitCode.ts";
import { keepHangupIgnored } from "./process/signals.ts";
import { withSuggestions } from "./suggestions.ts";
import { reportError, watchOutput } from "./terminal/errors.ts";
import { openJsonLines, printJsonError } from "./terminal/json.ts";
import { styled } from "./terminal/style.ts";

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
      'kit infer latest "7th of March 1998"': "prompt the newest job's model",
      "kit serve": "serve it to applications",
    }),
  );

interface ListedCommand {
  description: string;
  load: () => Promise<{ command: unknown }>;
}

/** Commands are loaded on demand, so that `kit --help` loads none. */
const COMMANDS: Record<string, ListedCommand> = {
  init: {
    description: "create a project that is ready to train",
    load: () => import("./commands/init.ts"),
  },
  build: {
    description: `bundle ${DEFAULT_ENTRY} into .kit/build/index.mjs`,
    load: () => import("./commands/build.ts"),
  },
  check: {
    description: "read the data and options, and print what training would do",
    load: () => import("./commands/check.ts"),
  },
  start: {
    description: "train; builds .kit/build/index.mjs only if it is missing",
    load: () => import("./commands/start.ts"),
  },
  attach: {
    description: "follow a job that trains on other machines",
    load: () => import("./commands/attach.ts"),
  },
  cancel: {
    description: "cancel a job, in whichever process it runs",
    load: () => import("./commands/cancel.ts"),
  },
  ui: {
    description: "open the page that starts runs and shows them live",
    load: () => import("./commands/ui.ts"),
  },
  jobs: {
    description: "list the project's jobs, newest first",
    load: () => import("./commands/jobs.ts"),
  },
  infer: {
    description: "prompt a trained model",
    load: () => import("./commands/infer.ts"),
  },
  serve: {
    description: "serve trained models over an OpenAI-compatible API",
    load: () => import("./commands/serve.ts"),
  },
  eval: {
    description: "score a model's answers and compare it with another model",
    load: () => import("./commands/eval.ts"),
  },
  export: {
    description: "write a trained model as a folder that other tools load",
    load: () => import("./commands/export.ts"),
  },
  push: {
    description: "push a trained model to the Hugging Face hub",
    load: () => import("./commands/push.ts"),
  },
  models: {
    description: "list the Hugging Face models cached on this machine",
    load: () => import("./commands/models.ts"),
  },
  python: {
    description: "manage the Python environment of engine: python()",
    load: () => import("./commands/python.ts"),
  },
};

/** For `kit ui`, which runs `manifest` in a subprocess. */
const HIDDEN_COMMANDS: Record<string, ListedCommand> = {
  manifest: { description: "", load: () => import("./commands/manifest.ts") },
};

const words = process.argv.slice(2);
program.configureOutput({
  outputError: (text, write) =>
    write(styled("red", withSuggestions(text, Object.keys(COMMANDS), words), process.stderr)),
});

const requested = words.find((word) => !word.startsWith("-") && word !== "help");
for (const [name, { description, load }] of Object.entries({ ...COMMANDS, ...HIDDEN_COMMANDS })) {
  const { command } = requested === name ? await load() : { command: new Command(name) };
  add(program, command as Command, { hidden: name in HIDDEN_COMMANDS }).description(description);
}

/** Inherits the parent's settings, as `program.command()` would. */
function add(parent: Command, command: Command, options?: { hidden: boolean }): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) child.copyInheritedSettings(command);
  parent.addCommand(command, options);
  return command;
}

watchOutput();

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed the error. It also throws for --help and --version.
    process.exitCode = error.exitCode === 0 ? EXIT_CODE.completed : EXIT_CODE.usageError;
    const options = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
    if (error.exitCode !== 0 && options.includes("--json")) {
      openJsonLines();
      printJsonError(new KitError("USAGE_INVALID", error.message.replace(/^error: /, "")));
    }
  } else {
    process.exitCode = lastExitCode(reportError(error));
  }
}
