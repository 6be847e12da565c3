/** The outcome of a request, without its content. */
export interface RequestRecord {
  /** The answer's `x-request-id`. */
  request: string;
  /** Arrival, ISO 8601 in UTC. */
  time: string;
  path: string;
  /** 499: the client disconnected early. */
  status: number;
  code?: string;
  /** The answering model's id. */
  model?: string;
  promptTokens?: number;
  tokens?: number;
  /** Time from arrival to the first token, in ms. */
  firstMs?: number;
  /** Generated tokens over the time since the model began to read the prompt. */
  tokensPerSecond?: number;
}

/** Formats a record as one line for people. */
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
