import { type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { KitError, messageOf } from "../../protocol/error.ts";

/** Maximum silence before or within a response. */
const MAX_SILENCE_MS = 30_000;

/** Limit of a response that is read into memory. Ray's longest list nodes and jobs. */
const MAX_BYTES = 16 * 2 ** 20;

/** Ray's own response to a missing or wrong token. */
const RAY_REFUSAL = /^(Unauthorized|Forbidden): .*token/;

export interface HttpResponse {
  status: number;
  body: Buffer;
}

export interface Call {
  method: "GET" | "PUT" | "POST";
  /** Begins with a slash. */
  path: string;
  body?: Buffer | object;
  signal?: AbortSignal | undefined;
  /** Default: 30 seconds. */
  silenceMs?: number;
}

export type Http = ReturnType<typeof createHttp>;

/**
 * Sends requests to a dashboard over `node:http`, since Ray refuses the headers of a browser's `fetch`.
 * @param isRecorded whether the address comes from a job's record, so it gets no token
 * @throws KitError `CLUSTER_UNREACHABLE`, `CLUSTER_REFUSED`
 */
export function createHttp(address: string, token: string | undefined, isRecorded = false) {
  const request = address.startsWith("https:") ? requestHttps : requestHttp;

  /** Resolves once the response's headers arrive. */
  function open({ method, path, body, signal, silenceMs = MAX_SILENCE_MS }: Call) {
    const bytes = body === undefined || Buffer.isBuffer(body) ? body : toJson(body);
    const headers = {
      "user-agent": "kit",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(bytes && { "content-length": bytes.length, "content-type": contentTypeOf(body) }),
    };
    const options: RequestOptions = { method, headers, ...(signal && { signal }) };
    const send = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request(`${address}${path}`, options, resolve);
        sent.setTimeout(silenceMs, () => sent.destroy(new Error("no answer")));
        sent.once("error", (error: NodeJS.ErrnoException) => {
          // A kept-alive connection may have been closed in the meantime.
          const isStale = method === "GET" && sent.reusedSocket && error.code === "ECONNRESET";
          if (isStale) resolve(send());
          else reject(error);
        });
        sent.end(bytes);
      });
    return send().then(assertAllowed, (cause: unknown) => {
      signal?.throwIfAborted();
      throw unreachable(address, cause);
    });
  }

  async function assertAllowed(response: IncomingMessage): Promise<IncomingMessage> {
    const { statusCode } = response;
    if (statusCode !== 401 && statusCode !== 403) return response;
    const body = await bodyOf(response).catch(() => Buffer.alloc(0));
    if (!RAY_REFUSAL.test(body.toString())) {
      throw refused(
        `The server at ${address} refuses requests with status ${statusCode}, but not because of Ray's token. Check the proxy in front of the dashboard.`,
      );
    }
    if (token !== undefined) {
      throw refused(
        `The Ray cluster at ${address} refuses the token. Set RAY_AUTH_TOKEN, or ray({ token }), to the cluster's.`,
      );
    }
    throw refused(
      isRecorded
        ? `The cluster at ${address} needs a token, but its address comes from a job's record, and Kit sends the token only to the project's own address. If that cluster is yours, set ray({ address }) or RAY_ADDRESS to it.`
        : `The Ray cluster at ${address} needs a token. Set RAY_AUTH_TOKEN, or ray({ token }).`,
    );
  }

  async function call(options: Call): Promise<HttpResponse> {
    const response = await open(options);
    try {
      return { status: response.statusCode ?? 0, body: await bodyOf(response) };
    } catch (cause) {
      options.signal?.throwIfAborted();
      throw unreachable(address, cause);
    }
  }

  return { open, call };
}

async function bodyOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > MAX_BYTES) throw new Error(`a response of more than ${MAX_BYTES / 2 ** 20} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function toJson(body: object): Buffer {
  return Buffer.from(JSON.stringify(body));
}

function contentTypeOf(body: Call["body"]): string {
  return Buffer.isBuffer(body) ? "application/octet-stream" : "application/json";
}

/** A response's JSON; undefined for anything else. */
export function jsonOf({ body }: HttpResponse): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    // Not JSON.
    return undefined;
  }
}

/** The error for a server without a usable response. */
export function unreachable(address: string, cause: unknown): KitError {
  return new KitError(
    "CLUSTER_UNREACHABLE",
    `No usable response from ${address} (${reasonOf(cause)}). Check that it is the Ray dashboard's address, and that this machine can reach it.`,
    { cause },
  );
}

/** Shortens OpenSSL's long messages. */
function reasonOf(cause: unknown): string {
  const { code = "" } = cause as NodeJS.ErrnoException;
  if (/^EPROTO$|^ERR_SSL_/.test(code)) return "it does not speak TLS: use http://";
  return messageOf(cause).trim().split("\n")[0] ?? "";
}

function refused(message: string): KitError {
  return new KitError("CLUSTER_REFUSED", message);
}
