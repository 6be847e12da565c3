import type { ServerResponse } from "node:http";
import { type ServerIdentity, METHODS, sendJson } from "../http/respond.ts";

/** Details of an error in OpenAI's format. */
export interface ErrorDetails {
  /** The invalid field of the request. */
  param?: string;
  /** An error code for programs. */
  code?: string;
  /** When to try again, in seconds. */
  retryAfterS?: number;
}

/** An error that any client may read: its message contains no paths and nothing of other requests. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly details: ErrorDetails;

  constructor(status: number, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.details = details;
  }
}

export function invalid(param: string, message: string): ApiError {
  return new ApiError(400, message, { param });
}

export const IDENTITY: ServerIdentity = {
  advice:
    "Send requests to /v1/chat/completions, /v1/responses, /v1/completions, /v1/models, /v1/files or /v1/fine_tuning/jobs.",
  command: "kit serve",
  methods: [...METHODS, "DELETE"],
  takesEncodedSlashes: true,
  errorBody: (status, message) => apiErrorBody(status, message),
};

/** An error's body in OpenAI's format. */
export function apiErrorBody(
  status: number,
  message: string,
  { param, code = codeOf(status) }: ErrorDetails = {},
): object {
  // `null` for absent fields, as OpenAI sends them.
  return { error: { message, type: typeOf(status), param: param ?? null, code: code ?? null } };
}

function codeOf(status: number): string | undefined {
  switch (status) {
    case 401:
      return "invalid_api_key";
    case 404:
      return "not_found";
    case 429:
      return "rate_limit_exceeded";
    default:
      return undefined;
  }
}

function typeOf(status: number): string {
  if (status === 429) return "requests";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

export function sendApiError(response: ServerResponse, error: ApiError): void {
  const { status, message, details } = error;
  if (details.retryAfterS !== undefined) response.setHeader("Retry-After", details.retryAfterS);
  sendJson(response, status, apiErrorBody(status, message, details));
}
