import { invalid } from "./apiError.ts";
import { type Body, recordOf } from "./fields.ts";

const METADATA = { pairs: 16, key: 64, value: 512 };

/** @throws ApiError 400 */
export function metadataOf(body: Body): Record<string, string> | undefined {
  const metadata = recordOf(body, "metadata");
  if (!metadata) return undefined;
  const pairs = Object.entries(metadata);
  const isValid = pairs.every(
    ([key, value]) =>
      key.length <= METADATA.key && typeof value === "string" && value.length <= METADATA.value,
  );
  if (isValid && pairs.length <= METADATA.pairs) return metadata as Record<string, string>;
  throw invalid(
    "metadata",
    `metadata must have at most ${METADATA.pairs} pairs of strings: keys of up to ${METADATA.key} characters, values of up to ${METADATA.value}.`,
  );
}
