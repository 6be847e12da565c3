/** The outcome of a request, without its content. */
export interface RequestRecord {
  /** The answer's `x-request-id`. */
  request: string;
  /** Arrival, ISO 8601 in UTC. */
  time: string;
  path: string;
  /** 499: the client went away before its answer was whole. */
  status: number;
  /** Of an error. */
  code?: string;
  /** The id of the model that answered. */
  model?: string;
  promptTokens?: number;
  tokens?: number;
  /** From arrival to the first piece of the answer, in ms. */
  firstMs?: number;
  /** Of the answer, from when the model began to read the prompt. */
  tokensPerSecond?: number;
}

/** One line for a person. */
export function requestLine(record: RequestRecord): string {
  const { time, path, status, code, model, promptTokens, tokens } = record;
  const { firstMs, tokensPerSecond } = record;
  const parts = [
    time.slice(11, 19),
    String(status),
    path,
    code,
    model,
    promptTokens !== undefined && `${promptTokens} + ${tokens} tokens`,
    firstMs !== undefined && `first after ${Math.round(firstMs)} ms`,
    tokensPerSecond !== undefined && `${tokensPerSecond.toFixed(1)} tokens/s`,
  ];
  return parts.filter((part) => typeof part === "string").join("  ");
}
