import { onTestFinished } from "vitest";
import type { EngineModel } from "../../../protocol/engine.ts";
import type { InferRequest } from "../../../protocol/infer.ts";
import { createModelPool } from "../../../server/serve/modelPool.ts";
import type { RequestRecord } from "../../../server/serve/requestLog.ts";
import {
  type ServeOptions,
  type ServeServer,
  startServeServer,
} from "../../../server/serve/server.ts";

/** In place of a model: tests of the server alone are about what goes in and out of it. */
export interface StandIn {
  model: EngineModel;
  /** What it was asked, oldest first. */
  asked: InferRequest[];
  /** Questions that it works on. */
  open: Set<InferRequest>;
  isClosed: () => boolean;
}

/** Says the last thing that it was told, word by word. */
export function sayBack(): StandIn {
  return standIn(async (request, onDelta) => {
    const { messages, prompt = "" } = request;
    const content = messages?.at(-1)?.content;
    const text = typeof content === "string" ? content : prompt;
    const words = text.match(/\S*\s*/g)?.filter((word) => word !== "") ?? [];
    for (const word of words) {
      onDelta?.({ text: word });
      await Promise.resolve();
    }
    return { text, finishReason: "stop", promptTokens: 7, tokens: words.length };
  });
}

/** Answers nothing before its signal. */
export function neverAnswers(): StandIn {
  return standIn(
    ({ signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  );
}

export function standIn(infer: EngineModel["infer"]): StandIn {
  const asked: InferRequest[] = [];
  const open = new Set<InferRequest>();
  let isClosed = false;
  return {
    ...{ asked, open, isClosed: () => isClosed },
    model: {
      async infer(request, onDelta) {
        asked.push(request);
        open.add(request);
        try {
          return await infer(request, onDelta);
        } finally {
          open.delete(request);
        }
      },
      close() {
        isClosed = true;
        return Promise.resolve();
      },
    },
  };
}

export interface TestServe extends ServeServer {
  /** Without a slash at its end. */
  url: string;
  /** Lines of its log. */
  records: RequestRecord[];
  /** Why models could not answer. */
  errors: unknown[];
  /** Sends JSON; `path` is under `/v1/`. */
  post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Response>;
}

/** The server on a free port, closed when the test has finished. */
export async function serve(
  { model }: StandIn = sayBack(),
  { maxConcurrent = 4, ...options }: Partial<ServeOptions> & { maxConcurrent?: number } = {},
): Promise<TestServe> {
  const models = createModelPool();
  const served = {
    id: "job-1",
    created: 1_700_000_000,
    maxConcurrent,
    open: () => Promise.resolve(model),
    source: () => "org/name",
  };
  await models.add(served, ["job-1", "dates", "latest", "org/name"]);
  const records: RequestRecord[] = [];
  const errors: unknown[] = [];
  const server = await startServeServer({
    ...{ host: "127.0.0.1", port: 0, maxWaiting: 2, models },
    onRequest: (record) => records.push(record),
    onError: (error) => errors.push(error),
    ...options,
  });
  onTestFinished(() => server.close(0));
  await server.setReady();
  const url = `http://127.0.0.1:${server.port}`;
  return {
    ...{ ...server, url, records, errors },
    post: (path, body, headers = {}) =>
      fetch(`${url}/v1/${path}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
  };
}

/** A question with one message. */
export function chat(content: string, more: object = {}) {
  return { model: "latest", messages: [{ role: "user", content }], ...more };
}

export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null };
}

export async function apiErrorOf(response: Response) {
  return ((await response.json()) as ErrorBody).error;
}

/** The data of a stream's events; `[DONE]` as it is. */
export function eventsIn(text: string): unknown[] {
  return text
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event) => {
      const data = event.replace(/^data: /, "");
      return data === "[DONE]" ? data : (JSON.parse(data) as unknown);
    });
}
