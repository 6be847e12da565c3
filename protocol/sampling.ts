/** The values that a number of a request may have. */
interface Range {
  /** Completes "must be". */
  expected: string;
  holds: (value: number) => boolean;
}

/** The numbers of an `infer` request, by their names. */
export const SAMPLING = {
  maxTokens: {
    expected: "a whole number of at least 1",
    holds: (value) => Number.isSafeInteger(value) && value >= 1,
  },
  temperature: {
    expected: "a number of at least 0",
    holds: (value) => Number.isFinite(value) && value >= 0,
  },
  topP: {
    expected: "a number above 0 and at most 1",
    holds: (value) => value > 0 && value <= 1,
  },
  seed: {
    expected: "a whole number of at least 0",
    holds: (value) => Number.isSafeInteger(value) && value >= 0,
  },
  logprobs: {
    expected: "a whole number from 0 to 20",
    holds: (value) => Number.isSafeInteger(value) && value >= 0 && value <= 20,
  },
} satisfies Record<string, Range>;
