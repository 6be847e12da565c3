import type { ChildProcess } from "node:child_process";
import { CLI, program } from "./paths.ts";
import type { Scope } from "./scope.ts";

export interface StartedServer {
  child: ChildProcess;
  /** Ends with a slash. */
  url: string;
}

/** Starts `kit ui` on a project. Resolves when it has printed its URL. */
export function startKitUi(scope: Scope, project: string): Promise<StartedServer> {
  return started(
    scope.start(process.execPath, [CLI, "ui", "--port", "0", "--no-open", "--project", project]),
  );
}

/** Starts a minimal server in its own process: `programs/bareServer.ts`. */
export function startBareServer(scope: Scope): Promise<StartedServer> {
  return started(scope.start(process.execPath, [program("bareServer")]));
}

/** Starts a server that sends a growing file to its clients: `programs/bareFollow.ts`. */
export function startBareFollow(scope: Scope, path: string): Promise<StartedServer> {
  return started(scope.start(process.execPath, [program("bareFollow"), path]));
}

export function started(child: ChildProcess): Promise<StartedServer> {
  return new Promise((resolve, reject) => {
    let printed = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      const url = /http:\/\/\S+(?=\s)/.exec(printed)?.[0];
      if (url) resolve({ child, url });
    });
    child.once("close", (code) => reject(new Error(`The server ended with ${code}: ${printed}`)));
  });
}
