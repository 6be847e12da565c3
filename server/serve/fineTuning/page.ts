import { invalid } from "../apiError.ts";

interface PageOptions {
  /** Default of the query's `limit`. */
  limit: number;
  maxLimit: number;
  /** Whether pages show an item. A hidden item can still be `after`. */
  isShown?: (id: string) => boolean;
}

/**
 * The page of a list that a query requests, in OpenAI's form.
 * @param items in the list's order
 * @throws ApiError 400
 */
export function pageOf<T extends { id: string }>(
  items: readonly T[],
  query: URLSearchParams,
  { limit: defaultLimit, maxLimit, isShown = () => true }: PageOptions,
) {
  const limit = Number(query.get("limit") ?? defaultLimit);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit) {
    throw invalid("limit", `limit must be a whole number from 1 to ${maxLimit}.`);
  }
  const after = query.get("after");
  const at = after === null ? -1 : items.findIndex(({ id }) => id === after);
  if (after !== null && at === -1) {
    throw invalid("after", "after must be the id of an item of this list.");
  }
  const rest = items.slice(at + 1).filter(({ id }) => isShown(id));
  const data = rest.slice(0, limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: limit < rest.length,
  };
}
