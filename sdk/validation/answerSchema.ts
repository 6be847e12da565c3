import { KitError, messageOf } from "../../protocol/error.ts";
import type { AnswerSchema, JsonSchema } from "../../protocol/infer.ts";
import { isRecord } from "../../protocol/isRecord.ts";

const TARGET = "draft-2020-12";

/** The part of Standard JSON Schema that is used (https://standardschema.dev). */
interface Standard {
  vendor?: unknown;
  jsonSchema?: { input?: (options: { target: string }) => unknown };
}

/**
 * Converts a request's schema to JSON Schema. A library's schema is converted by its input type.
 * @throws KitError `REQUEST_INVALID` for one that does not convert
 */
export async function asJsonSchema(schema: unknown): Promise<JsonSchema> {
  const standard = standardOf(schema);
  const found = standard ? await converted(schema as AnswerSchema, standard) : schema;
  if (typeof found === "boolean" || isRecord(found)) return found;
  throw new KitError(
    "REQUEST_INVALID",
    "infer: schema must be a JSON Schema, or a schema of a library that converts to it, such as zod 4.2 or valibot.",
  );
}

function standardOf(schema: unknown): Standard | undefined {
  const isObject = (typeof schema === "object" && schema !== null) || typeof schema === "function";
  const standard = isObject ? (schema as Record<string, unknown>)["~standard"] : undefined;
  return isRecord(standard) && "validate" in standard ? standard : undefined;
}

async function converted(schema: AnswerSchema, { vendor, jsonSchema }: Standard): Promise<unknown> {
  try {
    if (jsonSchema?.input) return jsonSchema.input({ target: TARGET });
    if (vendor !== "valibot") return undefined;
    const { toJsonSchema } = await import("@valibot/to-json-schema");
    return toJsonSchema(schema as Parameters<typeof toJsonSchema>[0], {
      target: TARGET,
      typeMode: "input",
    });
  } catch (error) {
    throw new KitError(
      "REQUEST_INVALID",
      `infer: the schema does not convert to JSON Schema: ${messageOf(error)}. Change that part, or pass a JSON Schema.`,
      { cause: error },
    );
  }
}
