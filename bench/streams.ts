/** Sizes of streamed answers: `programs/streams.ts`, and `kit serve`. */
export interface StreamSizes {
  /** A checkpoint's directory. */
  model: string;
  quantize?: "q8_0";
  /** Tokens per prompt, and maximum per answer. */
  prompt: number;
  answer: number;
  /** Whether answers must match `SCHEMA`. */
  isConstrained?: boolean;
}

/** Its answers are long, and constrain each token. */
export const SCHEMA = {
  type: "object",
  properties: {
    title: { type: "string", minLength: 40 },
    tags: { type: "array", items: { enum: ["red", "green", "blue"] }, minItems: 8 },
    text: { type: "string", minLength: 200 },
  },
  required: ["title", "tags", "text"],
  additionalProperties: false,
} as const;

/** Arrival of an answer's chunks, in ms after the request. */
export interface StreamTimes {
  first: number;
  /** Between two chunks. */
  gaps: number[];
}

/** Nearly every token is a chunk. */
export async function timeChunks(chunks: AsyncIterable<string>): Promise<StreamTimes> {
  const start = performance.now();
  const times: number[] = [];
  for await (const chunk of chunks) if (chunk !== "") times.push(performance.now() - start);
  return { first: times[0] ?? NaN, gaps: times.slice(1).map((time, i) => time - times[i]!) };
}
