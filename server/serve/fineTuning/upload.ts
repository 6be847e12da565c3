import { createWriteStream } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import { finished } from "node:stream/promises";
import { type BusboyConfig, type BusboyInstance, Busboy } from "@fastify/busboy";
import { OWNER_ONLY } from "../../../disk/file.ts";
import { printable } from "../../../protocol/printable.ts";
import { targetOf } from "../../http/target.ts";
import { ApiError, invalid } from "../apiError.ts";
import type { FileObject, FileStore, PartialFile } from "./fileStore.ts";

export interface UploadLimits {
  /** Limit of one file. */
  fileBytes: number;
  /** How long an upload may take to send `STEP_BYTES`, or its rest, in ms. */
  stalledMs: number;
  /** Limit of uploads at once. */
  uploads: number;
}

export const UPLOAD_LIMITS: UploadLimits = {
  fileBytes: 512 * 1024 * 1024,
  stalledMs: 30_000,
  uploads: 8,
};

const STALLED = 408;
/** The purpose of a file to train on. */
export const PURPOSE = "fine-tune";
const STEP_BYTES = 16 * 1024;
/** Limit of the form around the file. */
const FORM_BYTES = 64 * 1024;
const MAX_NAME_LENGTH = 255;
const FORM_LIMITS = { files: 1, fields: 20, parts: 21, fieldSize: 1024, headerPairs: 20 };

/** Whether a request uploads a file, which may take long. */
export function isUpload(request: IncomingMessage): boolean {
  return request.method === "POST" && targetOf(request).path === "/v1/files";
}

/** Receives files, and streams them to the disk. */
export function createUploads(store: FileStore, limits: UploadLimits) {
  let open = 0;
  /**
   * @returns undefined if the client disconnected
   * @throws ApiError; then nothing of the upload is left
   */
  return async (
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<FileObject | undefined> => {
    if (open >= limits.uploads) {
      request.resume();
      throw new ApiError(429, "Too many uploads at once. Wait a second, then send it again.", {
        retryAfterS: 1,
      });
    }
    open++;
    let partial: PartialFile | undefined;
    try {
      refuseEarly(request, limits);
      partial = store.create();
      // The client sends its body only after this.
      if (request.headers.expect !== undefined) response.writeContinue();
      const { bytes, filename, fields } = await receive(request, partial.path, limits);
      const unknownField = [...fields.keys()].find((name) => name !== "purpose");
      if (unknownField !== undefined) {
        throw invalid(unknownField, `${printable(unknownField)} is not supported. Leave it out.`);
      }
      const purpose = fields.get("purpose");
      if (filename === undefined)
        throw invalid("file", "Send the file as the form's field file, with its filename.");
      if (purpose !== PURPOSE) throw invalid("purpose", `purpose must be "${PURPOSE}".`);
      if (bytes === 0) throw invalid("file", "The file is empty. Send a file of JSON lines.");
      return partial.keep({ bytes, filename, purpose });
    } catch (error) {
      if (request.destroyed && !request.complete) return undefined;
      const isStalled = error instanceof ApiError && error.status === STALLED;
      if (isStalled) response.setHeader("Connection", "close");
      drain(request, limits);
      throw error;
    } finally {
      partial?.discard();
      open--;
    }
  };
}

/** Reads on for a while, because a client that is cut off while it sends would not see the response. */
function drain(request: IncomingMessage, { stalledMs }: UploadLimits): void {
  const timer = setTimeout(() => request.destroy(), stalledMs).unref();
  request.once("close", () => clearTimeout(timer)).resume();
}

function refuseEarly({ headers }: IncomingMessage, { fileBytes }: UploadLimits): void {
  if (!/^multipart\/form-data *;/i.test(headers["content-type"] ?? "")) {
    throw new ApiError(415, "Send a form: Content-Type: multipart/form-data.");
  }
  if (Number(headers["content-length"] ?? 0) > fileBytes + FORM_BYTES) throw tooLong(fileBytes);
}

interface Received {
  bytes: number;
  filename?: string;
  fields: Map<string, string>;
}

async function receive(
  request: IncomingMessage,
  path: string,
  { fileBytes, stalledMs }: UploadLimits,
): Promise<Received> {
  const headers = { ...request.headers, "content-type": request.headers["content-type"]! };
  const form = openForm({ headers, limits: { ...FORM_LIMITS, fileSize: fileBytes } });
  const received: Received = { bytes: 0, fields: new Map() };
  const writing: Promise<void>[] = [];
  const failed = new AbortController();
  const fail = (error: Error) => failed.abort(error);
  const timer = setTimeout(() => fail(stalled(stalledMs)), stalledMs);
  let stepBytes = 0;
  const onData = ({ length }: Buffer) => {
    stepBytes += length;
    if (stepBytes < STEP_BYTES) return;
    stepBytes = 0;
    timer.refresh();
  };
  const onGone = () => {
    if (!request.complete) fail(new Error("the client disconnected"));
  };
  const failRepeated = (name: string) => fail(invalid(name, `Send ${printable(name)} once.`));
  form.once("filesLimit", () => failRepeated("file"));
  // Busboy's types omit that a part may lack a name and a filename.
  form.on("field", (name: string | undefined, value) => {
    if (!isName(name)) return fail(malformed());
    if (received.fields.has(name)) failRepeated(name);
    received.fields.set(name, value);
  });
  form.on("file", (name: string | undefined, content, filename: string | undefined) => {
    if (name !== "file") {
      content.resume();
      if (!isName(name)) return fail(malformed());
      return fail(invalid(name, `${printable(name)} is not supported. Send one file, as file.`));
    }
    received.filename = nameOf(filename ?? "");
    content.once("limit", () => fail(tooLong(fileBytes)));
    content.on("data", (chunk: Buffer) => (received.bytes += chunk.length));
    const file = createWriteStream(path, { flags: "wx", mode: OWNER_ONLY });
    failed.signal.addEventListener("abort", () => file.destroy());
    // An error of either stream ends the upload.
    content.once("error", fail);
    file.once("error", fail);
    writing.push(finished(content.pipe(file)).catch(fail));
  });
  form.on("error", () => fail(malformed()));
  const whole = new Promise<void>((resolve, reject) => {
    failed.signal.addEventListener("abort", () => reject(failed.signal.reason as Error));
    form.once("finish", resolve);
  });
  request.on("data", onData).once("close", onGone);
  try {
    request.pipe(form);
    await whole;
    await Promise.all(writing);
    failed.signal.throwIfAborted();
    return received;
  } finally {
    clearTimeout(timer);
    request.off("data", onData).off("close", onGone).unpipe(form);
    await Promise.all(writing);
  }
}

/** @throws ApiError for a form without a boundary */
function openForm(config: BusboyConfig): BusboyInstance {
  try {
    return new Busboy(config);
  } catch {
    throw malformed();
  }
}

function isName(name: string | undefined): name is string {
  return name !== undefined && name !== "" && name.length <= MAX_NAME_LENGTH;
}

/** A file's name as the client sent it, which never becomes a path. */
function nameOf(clientName: string): string {
  return printable(basename(clientName.replaceAll("\\", "/"))).slice(0, MAX_NAME_LENGTH) || "file";
}

function tooLong(bytes: number): ApiError {
  return new ApiError(413, `The file is too long. Send at most ${bytes} bytes.`, { param: "file" });
}

function stalled(ms: number): ApiError {
  return new ApiError(STALLED, `The upload sent too little in ${ms / 1000} s. Send it again.`);
}

function malformed(): ApiError {
  return new ApiError(400, "The form is malformed or incomplete. Send it again.");
}
