import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { type UiServer, type UiServerOptions, startUiServer } from "../server/server.ts";
import { createProject } from "./project.ts";

/** The `kit` command as it is built in `dist/`. */
export const REAL_KIT = [process.execPath, resolve(import.meta.dirname, "../dist/cli/kit.js")];

/** The files of the tests' page. */
export const PAGE = {
  "index.html": "<!doctype html><title>Kit</title>",
  "assets/app-1a2b.js": "export {};\n",
  "assets/app-1a2b.css": "body {}\n",
  "favicon/none.svg": "<svg/>\n",
};

export interface TestServer extends UiServer {
  project: string;
  /** Ends with a slash. */
  url: string;
}

/** A server on a free port, closed when the test has finished. */
export async function startServer(options: Partial<UiServerOptions> = {}): Promise<TestServer> {
  const { project = createProject(), page = createProject(PAGE) } = options;
  const all = { kit: REAL_KIT, host: "127.0.0.1", port: 0, ...options, project, page };
  const server = await startUiServer(all);
  onTestFinished(() => server.close());
  return { ...server, project, url: `http://127.0.0.1:${server.port}/` };
}

/** A script in place of the `kit` command; its first argument says which command is called. */
export function standIn(project: string, code: string): string[] {
  const path = join(project, "stand-in.mjs");
  const gate = `
    import { existsSync, writeFileSync, writeSync } from "node:fs";
    import { setTimeout as delay } from "node:timers/promises";
    /** Waits until the test opens a gate. */
    async function gate(name) {
      while (!existsSync(name)) await delay(10);
    }`;
  writeFileSync(path, `${gate}\n${code}`);
  return [process.execPath, path];
}

/** Lets a stand-in go on that waits at a gate. */
export function openGate(project: string, name: string): void {
  writeFileSync(join(project, name), "");
}

/** The parts of a response's body. */
export interface BodyReader {
  /** Reads until this much has arrived, or the body has ended. */
  until: (isEnough: (text: string) => boolean) => Promise<string>;
  /** Reads to the end. */
  all: () => Promise<Buffer>;
  cancel: () => Promise<void>;
}

export function readBody(response: Response): BodyReader {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  onTestFinished(() => reader.cancel().catch(() => undefined));
  const chunks: Uint8Array[] = [];
  const more = async () => {
    const { value } = await reader.read();
    if (value) chunks.push(value);
    return value !== undefined;
  };
  const text = () => Buffer.concat(chunks).toString();
  return {
    async until(isEnough) {
      while (!isEnough(text()) && (await more()));
      return text();
    },
    async all() {
      while (await more());
      return Buffer.concat(chunks);
    },
    cancel: () => reader.cancel(),
  };
}

/** One frame of an event stream. */
export interface Frame {
  id?: string;
  event?: string;
  data?: string;
}

export function parseFrames(text: string): Frame[] {
  return text
    .split("\n\n")
    .slice(0, -1)
    .map((block) => {
      const fields = block.split("\n").map((line): [string, string] => {
        const colon = line.indexOf(": ");
        return [line.slice(0, colon), line.slice(colon + 2)];
      });
      return Object.fromEntries(fields);
    })
    .filter(({ event }) => event !== undefined);
}

export interface RawAnswer {
  status: number;
  headers: Record<string, unknown>;
  body: string;
}

/** Asks for a target exactly as it is written; `fetch` would tidy it up. */
export function askRaw(
  port: number,
  target: string,
  method = "GET",
  headers: Record<string, string> = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path: target, method, headers }, (answer) => {
      let body = "";
      answer.setEncoding("utf8");
      answer.on("data", (part: string) => (body += part));
      answer.on("end", () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }),
      );
    });
    asked.on("error", reject);
    asked.end();
  });
}

/** The sentence of an answer that is an error. */
export async function errorOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: string }).error;
}
