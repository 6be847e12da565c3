import type { AnswerStream, InferPiece, InferResult } from "../../protocol/infer.ts";

/**
 * Streams an answer's text in pieces. The model starts at once; a slow reader gets larger pieces.
 * @param ask answers until `signal` is aborted; an engine that tells no parts gives its text as one
 */
export function streamAnswer(
  ask: (onPiece: (piece: InferPiece) => void, signal: AbortSignal) => Promise<InferResult>,
): AnswerStream {
  const reading = new AbortController();
  let known = "";
  let isTold = false;
  let isEnded = false;
  let wake = () => {};

  function tell(text: string): void {
    known += text;
    isTold ||= text !== "";
    wake();
  }

  async function answer(): Promise<InferResult> {
    try {
      const answered = await ask(({ text }) => tell(text), reading.signal);
      if (!isTold) tell(answered.text);
      return answered;
    } finally {
      isEnded = true;
      wake();
    }
  }

  async function* read(): AsyncGenerator<string> {
    try {
      while (known !== "" || !isEnded) {
        if (known === "") {
          await new Promise<void>((resolve) => (wake = resolve));
          continue;
        }
        const text = known;
        known = "";
        yield text;
      }
      await result;
    } finally {
      reading.abort(
        new DOMException(
          "The answer's reader has broken off. Read the stream to its end, or use infer.",
          "AbortError",
        ),
      );
    }
  }

  const result = answer();
  // A caller may read only the pieces, so a rejection that nobody awaits must not end the process.
  result.catch(() => undefined);
  return { result, [Symbol.asyncIterator]: read };
}
