import type { Command } from "commander";
import { DEFAULT_PORT } from "../../protocol/port.ts";
import type { ui } from "../commands/ui.ts";
import { examples } from "./examples.ts";
import { parsePort, projectOption } from "./values.ts";

export function addUi(program: Command): void {
  program
    .command("ui")
    .description("serve the page that starts runs and shows them live")
    .option(
      "-p, --port <n>",
      `port, or 0 for any free one (default: ${DEFAULT_PORT} or the next free one)`,
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
      const { ui } = await import("../commands/ui.ts");
      await ui(...input);
    });
}
