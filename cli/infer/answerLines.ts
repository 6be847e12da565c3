import { KitError, isKitError } from "../../protocol/error.ts";
import { orAborted } from "../../sdk/projectCode.ts";
import { EXIT_CODE } from "../process/exitCode.ts";
import { showError } from "../terminal/errors.ts";
import type { LineFormat, LineRequest } from "./lineRequest.ts";
import { isInteractive, stdinLines } from "./lines.ts";

/** Maximum requests that a model answers concurrently. */
export const MAX_CONCURRENT = 32;

interface Options {
  /** Resolves to undefined if it has already shown the answer. */
  answer: (request: LineRequest) => Promise<string | undefined>;
  show: (text: string) => void;
  maxConcurrent: number;
}

/**
 * Answers the lines of stdin concurrently and in order; continues after one that fails.
 * @returns the exit code
 * @throws KitError `USAGE_INVALID` without any line
 */
export async function answerLines(
  { read, blank, failed }: LineFormat,
  { answer, show, maxConcurrent }: Options,
): Promise<number> {
  let exitCode: number = EXIT_CODE.completed;
  let isEmpty = true;

  async function showAnswer(
    number: number,
    pendingAnswer: ReturnType<Options["answer"]>,
  ): Promise<void> {
    try {
      const text = await pendingAnswer;
      if (text !== undefined) show(text);
    } catch (error) {
      if (!isKitError(error) || error.code !== "REQUEST_INVALID") throw error;
      // A person sees which line failed, and can retry.
      if (isInteractive()) showError(error);
      else {
        exitCode = showError(withLine(number, error));
        show(failed(number, error));
      }
    }
  }

  const failure = new AbortController();
  const pending: Promise<void>[] = [];
  let last = Promise.resolve();
  /** Shows in order; resolves once there is room for another request. */
  async function add(showNext: () => unknown): Promise<void> {
    last = last.then(async () => void (await showNext())).catch((error) => failure.abort(error));
    pending.push(last);
    if (pending.length >= (isInteractive() ? 1 : maxConcurrent))
      await orAborted(pending.shift()!, failure.signal);
  }

  const lines = stdinLines();
  for (;;) {
    const next = await orAborted(lines.next(), failure.signal);
    if (next.done) break;
    const { text, number } = next.value;
    const isBlank = text.trim() === "";
    isEmpty &&= isBlank;
    if (!isBlank) {
      const pendingAnswer = Promise.resolve().then(() => answer(read(text)));
      // A rejection is handled when the line's turn comes.
      pendingAnswer.catch(() => undefined);
      await add(() => showAnswer(number, pendingAnswer));
    } else if (blank !== undefined && !isInteractive()) {
      await add(() => show(blank));
    }
  }
  await orAborted(last, failure.signal);
  if (!isEmpty || isInteractive()) return exitCode;
  throw new KitError(
    "USAGE_INVALID",
    'No prompt on stdin. Pass one: kit infer latest "7th of March 1998".',
  );
}

function withLine(number: number, { code, message }: KitError): KitError {
  return new KitError(code, `line ${number}: ${message}`);
}
