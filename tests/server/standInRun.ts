import { readFileSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { createProject } from "../project.ts";
import { type TestServer, standIn, startServer } from "../uiServer.ts";

/** A server whose `kit` is a script of the test. */
export async function startWith(
  code: string,
  options: { graceMs?: number } = {},
): Promise<TestServer & { train: () => Promise<Response> }> {
  const project = createProject();
  const server = await startServer({ project, kit: standIn(project, code), ...options });
  return { ...server, train: () => postTrain(server.url) };
}

/** Clicks on the button. */
export function postTrain(url: string): Promise<Response> {
  return fetch(`${url}api/train`, { method: "POST" });
}

/** Asks for the run in flight. */
export function attach(url: string): Promise<Response> {
  return fetch(`${url}api/train`);
}

export function outputLog(project: string): Buffer {
  return readFileSync(join(project, ".kit", "run", "output.log"));
}

export function recordPath(project: string): string {
  return join(project, ".kit", "run", "run.json");
}

/** As a run leaves its record when it ends. */
export function dropClaim(project: string): void {
  utimesSync(recordPath(project), 0, 0);
}

/** A number that the stand-in has left in a file. */
export function pidIn(project: string, name: string): number {
  return Number(readFileSync(join(project, name), "utf8"));
}
