import { isRecord } from "../../../protocol/isRecord.ts";
import { fromJson } from "./fromJson.ts";

/**
 * A row's tools as OpenAI describes them: from JSON text, and where a tool lacks its
 * `{"type":"function"}` around it.
 * @returns undefined without any
 * @throws KitError `DATASET_INVALID` for a text that is not JSON
 */
export function toolsOf(value: unknown, where: string, column: string): unknown {
  if (typeof value === "string" && value.trim() === "") return undefined;
  const read = (one: unknown) => fromJson(one, where, column, "a list of tools");
  const tools = read(value);
  return Array.isArray(tools) ? tools.map((tool) => wrapped(read(tool))) : tools;
}

function wrapped(tool: unknown): unknown {
  if (!isRecord(tool)) return tool;
  const { type, ...rest } = tool;
  if (type !== undefined && type !== null && type !== "function") return tool;
  if (isRecord(rest["function"])) return type === "function" ? tool : { type: "function", ...rest };
  return typeof rest["name"] === "string" ? { type: "function", function: rest } : tool;
}
