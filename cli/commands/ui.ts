import { DEFAULT_PORT, isLoopback } from "../../protocol/address.ts";
import { KitError } from "../../protocol/error.ts";
import { startUiServer } from "../../server/server.ts";
import { TOKEN_PARAMETER, createToken } from "../../server/token.ts";
import { createCommand, parsePort, projectOption } from "../command.ts";
import { hostnameOf, nameToAllow, urlsOf } from "../host.ts";
import { PACKAGE } from "../packages/kitPackage.ts";
import { onRepeatedSignal } from "../process/signals.ts";
import { enterProject } from "../project/folder.ts";
import { print, printError } from "../terminal/print.ts";

const TOKEN_VARIABLE = "KIT_UI_TOKEN";
/** Shorter tokens could be guessed. */
const MIN_TOKEN_LENGTH = 16;

interface UiOptions {
  port?: number;
  host: string;
  allowedHost?: string[];
  token: boolean;
  open: boolean;
  project: string;
}

export const command = createCommand("ui", {
  "kit ui": `open http://localhost:${DEFAULT_PORT}/`,
  "kit ui --port 0 --no-open": "use any free port and open no browser",
  "kit ui --host 0.0.0.0": "listen on all interfaces; the printed URL holds a token",
  "kit ui --allowed-host dev.example": "serve behind a proxy under that name",
})
  .option(
    "-p, --port <n>",
    `port, or 0 for any free one (default: ${DEFAULT_PORT} or the next free one)`,
    parsePort,
  )
  .option("--host <address>", "address to listen on", "localhost")
  .option("--allowed-host <name...>", "also accept these host names")
  .option("--no-token", "do not require an access token")
  .option("--no-open", "do not open a browser")
  .addOption(projectOption())
  .action(async (options) => {
    const project = enterProject(options.project);
    const hostname = hostnameOf(options.host);
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
    // Exit at once: connections of the closed server may linger.
    onRepeatedSignal(() => void server.close().finally(() => process.exit()), server.kill);
    const query = new URLSearchParams(token === undefined ? {} : { [TOKEN_PARAMETER]: token });
    const path = token === undefined ? "/" : `/?${query.toString()}`;
    const [url, ...otherUrls] = urlsOf(hostname, server.port, path).map(({ href }) => href);
    print(`kit ui  ${url}  ${project}  stop with Ctrl-C`);
    for (const otherUrl of otherUrls) print(`        ${otherUrl}  from other machines`);
    if (options.open) await openBrowser(url!);
  });

/**
 * Other machines need a token, and so does everyone if `KIT_UI_TOKEN` is set.
 * @throws KitError `TOKEN_INVALID`
 */
function chooseToken({ host, token }: UiOptions): string | undefined {
  const ownToken = process.env[TOKEN_VARIABLE];
  // Subprocesses must not inherit the token.
  delete process.env[TOKEN_VARIABLE];
  if (!token) {
    if (isLoopback(host)) return undefined;
    printError(`kit: without a token, anyone who reaches ${host} can run this project's code.`);
    return undefined;
  }
  if (!ownToken) return isLoopback(host) ? undefined : createToken();
  if (ownToken.length >= MIN_TOKEN_LENGTH) return ownToken;
  throw new KitError(
    "TOKEN_INVALID",
    `KIT_UI_TOKEN needs at least ${MIN_TOKEN_LENGTH} characters. Create one with: node -p "crypto.randomUUID()"`,
  );
}

/** Opens a page in a browser. Does nothing if this machine has no visible browser, or on failure. */
export async function openBrowser(url: string): Promise<void> {
  // Other users of this machine could read the token in the browser's arguments.
  if (new URL(url).searchParams.has(TOKEN_PARAMETER)) return;
  if (!hasBrowser(process.env, process.platform)) return;
  try {
    const { default: isInsideContainer } = await import("is-inside-container");
    if (isInsideContainer()) return;
    const { default: open } = await import("open");
    const child = await open(url);
    // Ignore a missing browser: the URL is printed anyway.
    child.once("error", () => undefined);
  } catch {
    // As above: no browser is needed.
  }
}

/** Whether the user would see a browser that opens on this machine. */
export function hasBrowser(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): boolean {
  if (env.CI || env.SSH_CONNECTION || env.SSH_TTY) return false;
  if (env.REMOTE_CONTAINERS || env.CODESPACES) return false;
  return platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
}
