import { type Tool, isSet } from "../../../protocol/chat.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { invalid } from "../apiError.ts";
import { type Body, fieldOf } from "../fields.ts";

/**
 * The tools of a response request. Each function's fields are beside its type.
 * @returns undefined for none
 * @throws ApiError 400 for tools other than functions
 */
export function functionTools(body: Body): readonly Tool[] | undefined {
  const tools = fieldOf(body, "tools");
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools)) throw invalid("tools", "tools must be a list.");
  return tools.length === 0 ? undefined : tools.map((tool, at) => functionOf(tool, `tools[${at}]`));
}

function functionOf(tool: unknown, field: string): Tool {
  const { type, ...described } = isRecord(tool) ? tool : {};
  if (isRecord(tool) && type !== "function") {
    throw invalid(
      `${field}.type`,
      `${field} has the type ${JSON.stringify(type ?? "?")}, but kit serve runs no tools. Send a function, and call it yourself.`,
    );
  }
  const { name, description, parameters, strict, ...others } = described;
  if (typeof name !== "string" || (isSet(parameters) && !isRecord(parameters))) {
    throw invalid(field, `${field} is not {"type":"function","name":"…","parameters":{…}}.`);
  }
  // Chat templates write the keys in this order, and null values too.
  const entries = Object.entries({ name, description, parameters, strict, ...others });
  const fields = Object.fromEntries(entries.filter(([, value]) => isSet(value)));
  return { type: "function", function: fields as unknown as Tool["function"] };
}
