import { startUiServer } from "../../server/server.ts";
import { openBrowser } from "../browser.ts";
import { PACKAGE } from "../package.ts";
import { enterProject } from "../project.ts";

export interface UiOptions {
  port?: number;
  host: string;
  open: boolean;
  project: string;
}

export async function ui(options: UiOptions): Promise<void> {
  const project = enterProject(options.project);
  const server = await startUiServer({
    project,
    kit: [process.execPath, PACKAGE.cli],
    page: PACKAGE.page,
    host: options.host,
    port: options.port,
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      // Connections of the closed server may linger; nothing here waits for them.
      void server.close().then(() => process.exit());
    });
  }
  const url = `http://${nameOf(options.host)}:${server.port}/`;
  console.log(`kit ui  ${url}  ${project}`);
  if (options.open) await openBrowser(url);
}

/** The name under which this machine reaches what listens on an address. */
function nameOf(host: string): string {
  if (["127.0.0.1", "::1", "0.0.0.0", "::"].includes(host)) return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
