import { isLoopback } from "../../server/guard/host.ts";
import { TOKEN_PARAMETER, createToken } from "../../server/guard/token.ts";
import { startUiServer } from "../../server/server.ts";
import { openBrowser } from "../browser.ts";
import { PACKAGE } from "../package.ts";
import { enterProject } from "../project.ts";

const TOKEN_VARIABLE = "KIT_UI_TOKEN";

export interface UiOptions {
  port?: number;
  host: string;
  allowedHost?: string[];
  token: boolean;
  open: boolean;
  project: string;
}

export async function ui(options: UiOptions): Promise<void> {
  const project = enterProject(options.project);
  const token = chooseToken(options);
  const server = await startUiServer({
    project,
    kit: [process.execPath, PACKAGE.cli],
    page: PACKAGE.page,
    host: options.host,
    port: options.port,
    allowedHosts: options.allowedHost,
    token,
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      // Connections of the closed server may linger; nothing here waits for them.
      void server.close().then(() => process.exit());
    });
  }
  const query = token === undefined ? "" : `?${TOKEN_PARAMETER}=${encodeURIComponent(token)}`;
  const url = `http://${nameOf(options.host)}:${server.port}/${query}`;
  console.log(`kit ui  ${url}  ${project}`);
  if (options.open) await openBrowser(url);
}

/** Needed where others than this machine's users can reach the page. */
function chooseToken({ host, token }: UiOptions): string | undefined {
  const fixed = process.env[TOKEN_VARIABLE];
  // No subprocess gets it.
  delete process.env[TOKEN_VARIABLE];
  if (isLoopback(host)) return undefined;
  if (token) return fixed || createToken();
  console.error(`kit: without a token, whoever reaches ${host} can run this project's code.`);
  return undefined;
}

/** The name under which this machine reaches what listens on an address. */
function nameOf(host: string): string {
  if (["127.0.0.1", "::1", "0.0.0.0", "::"].includes(host)) return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
