import { type IncomingHttpHeaders, Agent, get } from "node:http";

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** From asking to the last byte. */
  ms: number;
}

const agent = new Agent({ keepAlive: true });

/** Asks once, over a connection that is kept, and reads the whole answer. */
export function ask(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () => {
        const ms = performance.now() - start;
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, body: Buffer.concat(chunks), ms });
      });
    }).once("error", reject);
  });
}
