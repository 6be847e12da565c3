import { createConnection } from "node:net";
import { statusesIn } from "../rawHttp.ts";

/** A request whose answer is known, because it was asked alone before. */
export interface KnownRequest {
  body: object;
  /** The same for `/v1/responses`. */
  asResponse: object;
  text: string;
}

export interface ServeCounts {
  requests: number;
  byClass: Record<string, number>;
  /** Answers that were compared with the known ones. */
  compared: number;
  /** Those that were another text. */
  wrong: string[];
}

/** No more answers come. */
const SILENT_MS = 2_000;
const FIELDS = [
  ...["model", "messages", "prompt", "stream", "stream_options", "n", "seed", "temperature"],
  ...["top_p", "max_tokens", "max_completion_tokens", "stop", "logprobs", "top_logprobs", "tools"],
  ...["tool_choice", "response_format", "logit_bias", "presence_penalty", "user", "__proto__"],
  ...["constructor", "parallel_tool_calls", "functions", "echo", "suffix", "toString", ""],
  ...["input", "instructions", "text", "max_output_tokens", "include", "reasoning", "store"],
  ...["previous_response_id", "metadata", "truncation"],
];
const PATHS = ["/v1/chat/completions", "/v1/chat/completions", "/v1/completions", "/v1/responses"];
const MORE_PATHS = [
  "/v1/responses/latest",
  "/v1/models",
  "/v1/models/latest",
  "/health",
  "/v1",
  "//v1",
  "/v1/%2e%2e",
  "*",
];
const HEADERS = ["Expect: 100-continue", "Expect: x", "Connection: close", "TE: trailers", "A: b"];
const MORE_HEADERS = ["Content-Encoding: gzip", "Transfer-Encoding: chunked", "Content-Length: 7"];

/** Requests as a fuzzer, a broken client and a hostile one send them, among good ones. */
export function createServeVisitor(
  port: number,
  known: readonly KnownRequest[],
  random: () => number,
) {
  const below = (most: number) => Math.floor(random() * most);
  const oneOf = <T>(all: readonly T[]): T => all[below(all.length)]!;
  const anyText = (most: number) =>
    String.fromCharCode(...Array.from({ length: below(most) }, () => below(0x10000)));

  function anyValue(depth = 0): unknown {
    const scalars = [
      ...[null, true, false, 0, 1, -1, 0.5, 2 ** 53, 1e308, -0, "", "latest", "auto", "none"],
      ...["required", "text", anyText(8), "\ud800", "__proto__", "user", "assistant"],
      ...["message", "function_call", "function_call_output", "reasoning", "input_text", "{}"],
    ];
    if (depth > 3 || random() < 0.6) return oneOf(scalars);
    if (random() < 0.5) return Array.from({ length: below(4) }, () => anyValue(depth + 1));
    return anyObject(depth + 1);
  }

  function anyObject(depth = 0): object {
    const names = [
      ...FIELDS,
      "type",
      "role",
      "content",
      "function",
      "name",
      "json_schema",
      "schema",
      ...["format", "call_id", "arguments", "output", "summary", "id"],
    ];
    const entries = Array.from({ length: below(5) }, () => [oneOf(names), anyValue(depth)]);
    return Object.fromEntries(entries) as object;
  }

  function mutatedBody(): string {
    const { body: chat, asResponse } = oneOf(known);
    const body = random() < 0.5 ? chat : asResponse;
    const changed = { ...body, [oneOf(FIELDS)]: anyValue() };
    const text = JSON.stringify(random() < 0.5 ? changed : { ...body, ...anyObject() });
    return random() < 0.5 ? text : mutated(text);
  }

  function mutated(text: string): string {
    const at = below(text.length);
    return text.slice(0, at) + anyText(6) + text.slice(at + below(4));
  }

  function bytesOf(body: string, path: string, headers: string[] = []): Buffer {
    const length = `Content-Length: ${Buffer.byteLength(body)}`;
    const all = ["Host: localhost", "Content-Type: application/json", length, ...headers];
    const lines = all.map((line) => `${line}\r\n`).join("");
    return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines}\r\n${body}`);
  }

  const good = () => {
    const request = oneOf(known);
    const isChat = random() < 0.5;
    const asked = isChat ? request.body : request.asResponse;
    const body = JSON.stringify({ ...asked, stream: random() < 0.5 });
    return { request, bytes: bytesOf(body, isChat ? "/v1/chat/completions" : "/v1/responses") };
  };
  const odd = () => bytesOf(mutatedBody(), oneOf([...PATHS, ...PATHS, ...MORE_PATHS]));
  const bent = () => bytesOf(mutatedBody(), oneOf(PATHS), [oneOf([...HEADERS, ...MORE_HEADERS])]);
  const broken = () => {
    const bytes = random() < 0.5 ? odd() : good().bytes;
    const at = below(bytes.length);
    const junk = Buffer.from(Array.from({ length: below(8) }, () => below(256)));
    return Buffer.concat([bytes.subarray(0, at), junk, bytes.subarray(at + below(4))]);
  };
  const chunked = () => {
    const body = mutatedBody();
    const size = Buffer.byteLength(body).toString(16);
    const head = `POST ${oneOf(PATHS)} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    return Buffer.from(`${head}${size}\r\n${body}\r\n0\r\n\r\n`);
  };

  /** Sends bytes; resolves with all that comes back until the answers are whole, or none comes. */
  function exchange(bytes: Buffer, answers: number, leavesAfter?: number): Promise<string> {
    return new Promise((resolve) => {
      const socket = createConnection({ host: "127.0.0.1", port, noDelay: true });
      let text = "";
      socket.setEncoding("utf8");
      socket.setTimeout(SILENT_MS, () => socket.destroy());
      socket.on("data", (part: string) => {
        text += part;
        const isOver = leavesAfter !== undefined && text.length > leavesAfter;
        if (isOver || endsOf(text) >= answers) socket.destroy();
      });
      socket.on("error", () => undefined);
      socket.on("close", () => resolve(text));
      socket.write(bytes, () => leavesAfter === 0 && socket.destroy());
    });
  }

  return async function visit(counts: ServeCounts): Promise<void> {
    const kind = random();
    if (kind < 0.35) {
      const asked = Array.from({ length: random() < 0.2 ? 1 + below(6) : 1 }, good);
      const bytes = Buffer.concat(asked.map((each) => each.bytes));
      const leavesAfter = random() < 0.3 ? below(2_000) : undefined;
      const text = await exchange(bytes, asked.length, leavesAfter);
      count(counts, text, asked.length);
      // The last one may have been cut off.
      const said = textsIn(text).slice(0, endsOf(text));
      for (const [at, found] of said.entries()) {
        counts.compared++;
        const wanted = asked[at]?.request.text;
        if (found !== wanted) counts.wrong.push(`${found} instead of ${wanted}`);
      }
      return;
    }
    const make = oneOf([odd, odd, odd, bent, broken, chunked]);
    const leavesAfter = random() < 0.2 ? below(1_000) : undefined;
    count(counts, await exchange(make(), 1, leavesAfter), 1);
  };
}

function count(counts: ServeCounts, text: string, requests: number): void {
  counts.requests += requests;
  for (const status of statusesIn(text)) {
    const each = `${Math.trunc(status / 100)}xx`;
    counts.byClass[each] = (counts.byClass[each] ?? 0) + 1;
  }
}

/** Answers that are whole: bodies end with usage or an error, streams with their last chunk. */
function endsOf(text: string): number {
  const whole = text.match(/"total_tokens":\d+\}\}(?!,)|"code":(?:null|"\w*")\}\}/g) ?? [];
  const streams = text.match(/(?:\[DONE\]|"sequence_number":\d+\})\n\n\r\n0\r\n\r\n/g) ?? [];
  const others = text.match(/"object":"list"|"owned_by":"kit"\}$|\{"status":"ok"\}/g) ?? [];
  return whole.length + streams.length + others.length;
}

/** What each answer says, in their order. */
function textsIn(text: string): string[] {
  return text
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((answer) => answer.startsWith("HTTP/1.1 200"))
    .map((answer) => {
      // A stream's last event has the whole response.
      const [, json] =
        [...answer.matchAll(/"output_text","text":("(?:[^"\\]|\\.)*")/g)].at(-1) ?? [];
      if (json !== undefined) return JSON.parse(json) as string;
      const parts = answer.matchAll(/"(?:delta|message)":(\{.*?\}),"(?:logprobs|finish_reason)"/g);
      const said = [...parts].map(([, json = ""]) => JSON.parse(json) as { content?: string });
      return said.map(({ content = "" }) => content).join("");
    });
}
