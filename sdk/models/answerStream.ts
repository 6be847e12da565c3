import type { AnswerStream, InferDelta, InferResult } from "../../protocol/infer.ts";

/**
 * Streams an answer's text. The model starts at once; a slow reader gets larger chunks.
 * @param infer answers until `signal` is aborted; an engine may report only the whole text
 */
export function streamAnswer(
  infer: (onDelta: (delta: InferDelta) => void, signal: AbortSignal) => Promise<InferResult>,
): AnswerStream {
  const reading = new AbortController();
  let buffered = "";
  let hasText = false;
  let isEnded = false;
  let wake = () => {};

  function push(text: string): void {
    buffered += text;
    hasText ||= text !== "";
    wake();
  }

  async function answer(): Promise<InferResult> {
    try {
      const answered = await infer(({ text }) => push(text), reading.signal);
      if (!hasText) push(answered.text);
      return answered;
    } finally {
      isEnded = true;
      wake();
    }
  }

  async function* read(): AsyncGenerator<string> {
    try {
      while (buffered !== "" || !isEnded) {
        if (buffered === "") {
          await new Promise<void>((resolve) => (wake = resolve));
          continue;
        }
        const text = buffered;
        buffered = "";
        yield text;
      }
      await result;
    } finally {
      reading.abort(
        new DOMException(
          "The stream was closed before its end. Read it to the end, or use infer.",
          "AbortError",
        ),
      );
    }
  }

  const result = answer();
  // A caller may never await `result`; its rejection must not end the process.
  result.catch(() => undefined);
  return { result, [Symbol.asyncIterator]: read };
}
