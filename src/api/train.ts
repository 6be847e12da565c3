import { ROUTES } from "../../protocol/http.ts";
import { request } from "./request.ts";

/**
 * Starts a run; resolves with what it prints, as it prints it.
 * @throws {RequestError} status 409 while another run is in flight
 */
export async function startRun(): Promise<ReadableStream<string>> {
  return text(await request(ROUTES.train, { method: "POST" }));
}

/**
 * The output of the run in flight from its first character, or null when there is none.
 * @throws {RequestError}
 */
export async function attachToRun(): Promise<ReadableStream<string> | null> {
  const response = await request(ROUTES.train);
  return response.status === 204 ? null : text(response);
}

function text(response: Response): ReadableStream<string> {
  const body: ReadableStream<BufferSource> = response.body ?? new Blob([]).stream();
  return body.pipeThrough(new TextDecoderStream("utf-8", { ignoreBOM: true }));
}
