import { once } from "node:events";
import { createReadStream } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { readPage, snippetsOf } from "./docs/snippets.ts";
import { openPage } from "./e2e/browser.ts";

const WLLAMA = dirname(fileURLToPath(import.meta.resolve("@wllama/wllama")));
const TYPES: Record<string, string> = { ".js": "text/javascript", ".wasm": "application/wasm" };

/** That of docs/ship.md. */
const PAGE =
  snippetsOf(readPage("ship.md")).find(({ language }) => language === "html")?.code ?? "";
const QUESTION = "7th of March 1998";

/** Asks a GGUF file by wllama in the browser of `useBrowser`, in a page for each question. @returns the pages' texts */
export async function askInPage(file: string, questions: string[]): Promise<string[]> {
  const server = createServer(({ url = "/" }, response) => {
    const { pathname, searchParams } = new URL(url, "http://localhost");
    if (pathname === "/") {
      response.setHeader("content-type", "text/html");
      response.end(PAGE.replace(QUESTION, searchParams.get("question") ?? ""));
      return;
    }
    const path = pathname === "/model.gguf" ? file : join(WLLAMA, pathname.replace("/wllama/", ""));
    response.setHeader("content-type", TYPES[extname(path)] ?? "application/octet-stream");
    const content = createReadStream(path);
    content.on("error", () => response.writeHead(404).end()).pipe(response);
  });
  onTestFinished(() => void server.close());
  const address = `http://127.0.0.1:${await portOf(server)}`;
  const answers: string[] = [];
  for (const question of questions) {
    const page = await openPage(`${address}/?question=${encodeURIComponent(question)}`);
    await page.waitForFunction("document.body.innerText.trim() !== ''");
    answers.push(await page.innerText("body"));
  }
  return answers;
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
