import { networkInterfaces } from "node:os";
import { DEFAULT_PORT, isLoopback } from "../../protocol/address.ts";
import { KitError } from "../../protocol/error.ts";
import { startUiServer } from "../../server/server.ts";
import { TOKEN_PARAMETER, createToken } from "../../server/token.ts";
import { openBrowser } from "../browser.ts";
import { createCommand, examples, parsePort, projectOption } from "../command.ts";
import { hostnameOf, nameToAllow } from "../host.ts";
import { isAnyAddress, networkAddresses } from "../networkAddresses.ts";
import { PACKAGE } from "../packages/kitPackage.ts";
import { onEndingSignal } from "../process/signals.ts";
import { enterProject } from "../project/folder.ts";
import { print, printError } from "../terminal/print.ts";

const TOKEN_VARIABLE = "KIT_UI_TOKEN";
/** Shorter ones could be guessed. */
const TOKEN_LENGTH = 16;
/** Not `localhost`, which may resolve to `::1`, where another server could listen. */
const LOOPBACK = "127.0.0.1";

/** npx passes a Ctrl-C on that this process has got from the terminal, too. */
const ONE_CTRL_C_MS = 300;

interface UiOptions {
  port?: number;
  host: string;
  allowedHost?: string[];
  token: boolean;
  open: boolean;
  project: string;
}

export const command = createCommand("ui")
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
  .action(async (options) => {
    const project = enterProject(options.project);
    const hostname = hostnameOf(options.host);
    // A browser can't open a wildcard address.
    const url = new URL(`http://${isAnyAddress(hostname) ? LOOPBACK : hostname}/`);
    const allowedHosts = options.allowedHost?.map(nameToAllow);
    const token = chooseToken(options);
    const server = await startUiServer({
      project,
      kit: [process.execPath, PACKAGE.cli],
      page: PACKAGE.page,
      host: options.host,
      port: options.port,
      allowedHosts,
      token,
      onNote: print,
    });
    let endingSince: number | undefined;
    onEndingSignal(() => {
      if (endingSince !== undefined && performance.now() - endingSince > ONE_CTRL_C_MS)
        server.cut();
      endingSince ??= performance.now();
      // Exit at once: connections of the closed server may linger.
      void server.close().finally(() => process.exit());
    });
    url.port = String(server.port);
    if (token !== undefined) url.searchParams.set(TOKEN_PARAMETER, token);
    print(`kit ui  ${url.href}  ${project}  stop with Ctrl-C`);
    for (const address of networkAddresses(hostname, networkInterfaces())) {
      const there = new URL(url);
      there.hostname = address;
      print(`        ${there.href}  from other machines`);
    }
    if (options.open) await openBrowser(url.href);
  });

/**
 * Other machines need a token, and so does everyone if `KIT_UI_TOKEN` is set.
 * @throws KitError `TOKEN_INVALID`
 */
function chooseToken({ host, token }: UiOptions): string | undefined {
  const fixed = process.env[TOKEN_VARIABLE];
  // Subprocesses must not inherit the token.
  delete process.env[TOKEN_VARIABLE];
  if (!token) {
    if (isLoopback(host)) return undefined;
    printError(`kit: without a token, anyone who reaches ${host} can run this project's code.`);
    return undefined;
  }
  if (!fixed) return isLoopback(host) ? undefined : createToken();
  if (fixed.length >= TOKEN_LENGTH) return fixed;
  throw new KitError(
    "TOKEN_INVALID",
    `KIT_UI_TOKEN needs at least ${TOKEN_LENGTH} characters. Create one with: export KIT_UI_TOKEN=$(node -p "crypto.randomUUID()")`,
  );
}
