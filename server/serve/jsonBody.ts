import type { IncomingMessage, ServerResponse } from "node:http";
import { isRecord } from "../../protocol/isRecord.ts";
import { parseJson } from "../../protocol/json.ts";
import { type BodyReader } from "../http/body.ts";
import { ApiError } from "./apiError.ts";
import type { Body } from "./fields.ts";

/** Nesting limit, so that recursion can't overflow the stack. */
const MAX_DEPTH = 100;

/**
 * Reads a request's JSON object.
 * @returns undefined if the client disconnected
 * @throws ApiError for anything else
 */
export async function readJsonBody(
  bodies: BodyReader,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Body | undefined> {
  const { headers } = request;
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  const isJson = type.trim().toLowerCase() === "application/json";
  const encoding = headers["content-encoding"] ?? "identity";
  if (!isJson || encoding.trim().toLowerCase() !== "identity") {
    request.resume();
    throw new ApiError(
      415,
      "Send the body as it is, with the header Content-Type: application/json.",
    );
  }
  const content = await bodies.read(request, response);
  if (content === undefined) return undefined;
  if (Buffer.isBuffer(content)) return asBody(content);
  const { status, error, headers: refusalHeaders = {} } = content;
  for (const [name, value] of Object.entries(refusalHeaders)) response.setHeader(name, value);
  throw new ApiError(status, error);
}

function asBody(bytes: Buffer): Body {
  let value: unknown;
  try {
    value = parseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep();
    // The parser's message would quote the text.
    throw new ApiError(
      400,
      "The body is not valid JSON in UTF-8. Check its quotes, commas and encoding.",
      {},
      { cause: error },
    );
  }
  if (!isRecord(value)) throw new ApiError(400, "The body must be a JSON object.");
  if (isDeeper(value, MAX_DEPTH)) throw tooDeep();
  return value;
}

function tooDeep(): ApiError {
  return new ApiError(400, `The body is nested too deeply. Send at most ${MAX_DEPTH} levels.`);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}
