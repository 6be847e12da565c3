#!/usr/bin/env node
import { Command, CommanderError, InvalidArgumentError } from "commander";
import type { UiOptions } from "./commands/ui.ts";
import { reportError } from "./errors.ts";
import { keepHangupIgnored } from "./hangup.ts";
import { packageVersion } from "./packages/own.ts";

const EXIT_WRONG_USE = 2;
const LAST_PORT = 65_535;

keepHangupIgnored();

// What a command does is imported when it runs: `kit --help` loads none of it.
const program = new Command("kit")
  .description("Train a model the way you ship your app.")
  .version(packageVersion())
  .exitOverride()
  .addHelpText(
    "after",
    examples({
      "kit init dates": "make a project, and be told what is next",
      "kit ui": "open its page, and start runs there",
      "kit start": "or train in the terminal",
    }),
  );

program
  .command("init")
  .description("create a project that trains at once: a date normalizer")
  .argument("[dir]", "folder of the project", ".")
  .option("--name <name>", "name of the project (default: the folder's name)")
  .addHelpText(
    "after",
    examples({
      "kit init dates": "a new project in dates/",
      "kit init": "in this folder; what is there is added to, not overwritten",
      "kit init dates --name my-dates": "with another name in its package.json",
    }),
  )
  .action(async (directory: string, options: { name?: string }) => {
    const { init } = await import("./commands/init.ts");
    init(directory, options);
  });

program
  .command("build")
  .description("bundle src/kit/index.ts into .kit/build/index.mjs")
  .argument("[entry]", "file to bundle")
  .option("--project <dir>", "folder of the project", ".")
  .addHelpText(
    "after",
    examples({
      "kit build": "after an edit, for the next kit start",
      "kit build src/kit/long.ts": "another file, into a bundle of its own",
    }),
  )
  .action(async (entry: string | undefined, options: { project: string }) => {
    const { build } = await import("./commands/build.ts");
    await build(entry, options);
  });

program
  .command("start")
  .description("train; reuses .kit/build/index.mjs if it exists, builds it if not")
  .argument("[entry]", "file to build first and train, instead of src/kit/index.ts")
  .option("--project <dir>", "folder of the project", ".")
  .addHelpText(
    "after",
    examples({
      "kit start": "train what was built last",
      "kit build && kit start": "train what is in src/kit now",
      "kit start src/kit/long.ts": "build another file and train that",
      "kit start --project ../dates | tee run.txt": "another project, its lines kept",
    }),
  )
  .action(async (entry: string | undefined, options: { project: string }) => {
    const { start } = await import("./commands/start.ts");
    await start(entry, options);
  });

program
  .command("ui")
  .description("open the page to start a run and watch it")
  .option("-p, --port <n>", "port (default: 4747 or the next free one; 0: any)", parsePort)
  .option("--host <address>", "address to listen on", "localhost")
  .option("--allowed-host <name...>", "let the page be asked for under these names too")
  .option("--no-token", "let in whoever reaches an address that is not this machine's own")
  .option("--no-open", "do not open a browser")
  .option("--project <dir>", "folder of the project", ".")
  .addHelpText(
    "after",
    examples({
      "kit ui": "open the page at http://localhost:4747/",
      "kit ui --port 0 --no-open": "on any free port, without a browser",
      "kit ui --host 0.0.0.0": "from other machines; the printed URL holds a token",
      "kit ui --allowed-host dev.example": "behind a proxy under that name",
    }),
  )
  .action(async (options: UiOptions) => {
    const { ui } = await import("./commands/ui.ts");
    await ui(options);
  });

program
  .command("manifest", { hidden: true })
  .option("--project <dir>", "folder of the project", ".")
  .action(async (options: { project: string }) => {
    const { manifest } = await import("./commands/manifest.ts");
    await manifest(options);
  });

function examples(lines: Record<string, string>): string {
  const width = Math.max(...Object.keys(lines).map((line) => line.length));
  const shown = Object.entries(lines).map(([line, what]) => `  ${line.padEnd(width)}  ${what}`);
  return ["", "Examples:", ...shown].join("\n");
}

function parsePort(value: string): number {
  const port = Number(value);
  if (/^\d+$/.test(value) && port <= LAST_PORT) return port;
  throw new InvalidArgumentError(`It must be a whole number from 0 to ${LAST_PORT}.`);
}

// Whoever reads what is printed may leave, as `head` does; what was begun goes on.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed it; help and version are no mistakes.
    process.exitCode = error.exitCode === 0 ? 0 : EXIT_WRONG_USE;
  } else {
    process.exitCode = reportError(error);
  }
}
