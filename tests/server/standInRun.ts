import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunLease } from "../../jobs/runLease.ts";
import { createProject } from "../project.ts";
import { type TestServer, standIn, startServer } from "../uiServer.ts";

/** A server whose `kit` is a script of the test. */
export async function startWith(
  code: string,
  options: { graceMs?: number; drainMs?: number } = {},
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
  return join(project, ".kit", "run", "lease.json");
}

/** Records a run that another server has launched. */
export function writeRun(project: string, lease: Partial<RunLease> & Pick<RunLease, "owner">) {
  mkdirSync(join(project, ".kit", "run"), { recursive: true });
  const run = { id: randomUUID(), server: lease.owner, renewal: 0, ...lease };
  writeFileSync(recordPath(project), JSON.stringify(run));
  return run;
}

/** A number that the stand-in has left in a file. */
export function pidIn(project: string, name: string): number {
  return Number(readFileSync(join(project, name), "utf8"));
}
