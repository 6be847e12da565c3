#!/usr/bin/env node
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { DEFAULT_ENTRY } from "../protocol/entry.ts";
import { DEFAULT_PORT, LAST_PORT } from "../protocol/port.ts";
import type { build } from "./commands/build.ts";
import type { init } from "./commands/init.ts";
import type { manifest } from "./commands/manifest.ts";
import type { start } from "./commands/start.ts";
import type { ui } from "./commands/ui.ts";
import { reportError } from "./errors.ts";
import { EXIT_CODE } from "./exitCode.ts";
import { keepHangupIgnored } from "./hangup.ts";
import { packageVersion } from "./packages/own.ts";

keepHangupIgnored();

// Each action imports its command when it runs, so that `kit --help` loads none of them.
const program = new Command("kit")
  .description("Train a model the way you ship your app.")
  .version(packageVersion())
  .exitOverride()
  .addHelpText(
    "after",
    examples({
      "kit init dates": "create a project and print the next step",
      "kit ui": "open the project's page and start runs there",
      "kit start": "train in the terminal",
    }),
  );

program
  .command("init")
  .description("create a project that is ready to train: a date normalizer")
  .argument("[dir]", "project folder", ".")
  .option("--name <name>", "package name (default: the folder's name)")
  .addHelpText(
    "after",
    examples({
      "kit init dates": "create a project in dates/",
      "kit init": "add Kit to the current folder; overwrites nothing",
      "kit init dates --name my-dates": "choose another package name",
    }),
  )
  .action(async (...input: Parameters<typeof init>) => {
    const { init } = await import("./commands/init.ts");
    init(...input);
  });

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
    const { build } = await import("./commands/build.ts");
    await build(...input);
  });

program
  .command("start")
  .description("train; builds .kit/build/index.mjs only if it is missing")
  .argument("[entry]", `build and train this file instead of ${DEFAULT_ENTRY}`)
  .addOption(projectOption())
  .addHelpText(
    "after",
    examples({
      "kit start": "train the last build",
      "kit build && kit start": "train your latest edits",
      "kit start src/kit/long.ts": "build and train another file",
      "kit start --project ../dates | tee run.txt": "train another project and keep its output",
    }),
  )
  .action(async (...input: Parameters<typeof start>) => {
    const { start } = await import("./commands/start.ts");
    await start(...input);
  });

program
  .command("ui")
  .description("serve the page that starts runs and shows them live")
  .option(
    "-p, --port <n>",
    `port; 0: any free one (default: ${DEFAULT_PORT} or the next free one)`,
    parsePort,
  )
  .option("--host <address>", "address to listen on", "localhost")
  .option("--allowed-host <name...>", "also answer to these host names")
  .option("--no-token", "do not require an access token")
  .option("--no-open", "do not open a browser")
  .addOption(projectOption())
  .addHelpText(
    "after",
    examples({
      "kit ui": `open http://localhost:${DEFAULT_PORT}/`,
      "kit ui --port 0 --no-open": "use any free port and open no browser",
      "kit ui --host 0.0.0.0": "let other machines in; the printed URL holds a token",
      "kit ui --allowed-host dev.example": "serve behind a proxy under that name",
    }),
  )
  .action(async (...input: Parameters<typeof ui>) => {
    const { ui } = await import("./commands/ui.ts");
    await ui(...input);
  });

program
  .command("manifest", { hidden: true })
  .addOption(projectOption())
  .action(async (...input: Parameters<typeof manifest>) => {
    const { manifest } = await import("./commands/manifest.ts");
    await manifest(...input);
  });

function projectOption(): Option {
  return new Option("--project <dir>", "project folder").default(".", "the current folder");
}

function examples(lines: Record<string, string>): string {
  const width = Math.max(...Object.keys(lines).map((line) => line.length));
  const shown = Object.entries(lines).map(([line, effect]) => `  ${line.padEnd(width)}  ${effect}`);
  return ["", "Examples:", ...shown].join("\n");
}

function parsePort(value: string): number {
  const port = Number(value);
  if (/^\d+$/.test(value) && port <= LAST_PORT) return port;
  throw new InvalidArgumentError(`It must be a whole number from 0 to ${LAST_PORT}.`);
}

// Ignore EPIPE: `kit start | head` must not stop the run.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

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
