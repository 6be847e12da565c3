/** Answers that are streamed: `programs/streams.ts`, and `kit serve`. */
export interface StreamSizes {
  /** A checkpoint's directory. */
  model: string;
  quantize?: "q8_0";
  /** Tokens of a prompt, and of an answer at most. */
  prompt: number;
  answer: number;
  /** Whether answers are held to `SCHEMA`. */
  isHeld?: boolean;
}

/** Of long answers in which each token is held to something. */
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

/** When the pieces of an answer came, in ms after it was asked for. */
export interface StreamTimes {
  first: number;
  /** Between two pieces. */
  gaps: number[];
}

/** Nearly every token is a piece. */
export async function timePieces(pieces: AsyncIterable<string>): Promise<StreamTimes> {
  const start = performance.now();
  const times: number[] = [];
  for await (const piece of pieces) if (piece !== "") times.push(performance.now() - start);
  return { first: times[0] ?? NaN, gaps: times.slice(1).map((time, i) => time - times[i]!) };
}
