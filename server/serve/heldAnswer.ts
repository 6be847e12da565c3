import type { JsonSchema } from "../../protocol/infer.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { parseJson } from "../../protocol/json.ts";
import { invalid } from "./apiError.ts";
import { type Body, booleanOf, fieldOf, notSupported, recordOf } from "./fields.ts";
import { refuseUnsupported } from "./unsupported.ts";

/** What an answer is held to. */
type Form = { schema: JsonSchema } | { choices: readonly string[] } | { pattern: string };

/** @returns undefined where it may be any text */
type Read = (body: Body, field: string, parent?: string) => Form | undefined;

/** Fields that say what an answer is to be: OpenAI's, and those of vLLM, llama.cpp, Ollama and SGLang. */
const FIELDS: Record<string, Read> = {
  response_format: formatIn,
  structured_outputs: outputsIn,
  ...{ guided_json: schemaIn, json_schema: schemaIn },
  ...{ guided_choice: choicesIn, guided_regex: patternIn, regex: patternIn },
  guided_json_object: objectIn,
  format: (body, field) => (fieldOf(body, field) === "json" ? OBJECT : schemaIn(body, field)),
};
/** Those of vLLM's `structured_outputs`. */
const OUTPUTS: Record<string, Read> = {
  ...{ json: schemaIn, choice: choicesIn, regex: patternIn },
  json_object: objectIn,
};

const OBJECT: Form = { schema: { type: "object" } };
const MOST_CHOICES = 1000;

/**
 * What a request holds its answer to, and the fields that say so, by the options of `infer`.
 * @throws ApiError 400 for a form that cannot be read, and for two
 */
export function heldAnswer(body: Body): { form: Form | undefined; names: Record<string, string> } {
  const [first, second] = formsIn(body, FIELDS);
  if (first && second) {
    throw invalid(second.field, `Send ${first.field} or ${second.field}, not both.`);
  }
  if (!first) return { form: undefined, names: {} };
  const names = Object.keys(first.form).map((option) => [option, first.field] as const);
  return { form: first.form, names: Object.fromEntries(names) };
}

function formsIn(body: Body, fields: Record<string, Read>, parent = "") {
  return Object.entries(fields).flatMap(([field, read]) => {
    const value = fieldOf(body, field);
    const form = value === undefined || value === "" ? undefined : read(body, field, parent);
    return form ? [{ field: parent + field, form }] : [];
  });
}

function formatIn(body: Body, field: string): Form | undefined {
  const format = recordOf(body, field) ?? {};
  const type = fieldOf(format, "type");
  if (type === "text") return undefined;
  if (type === "regex")
    return patternIn(
      format,
      ["pattern", "value"].find((key) => key in format) ?? "pattern",
      `${field}.`,
    );
  if (type !== "json_object" && type !== "json_schema") {
    throw notSupported(field, "Send its type as text, json_object, json_schema or regex.");
  }
  const described = recordOf(format, "json_schema", `${field}.`);
  // llama.cpp and SGLang have it beside the type, TGI as the value.
  const schema = [described?.["schema"], format["schema"], format["value"]].find(
    (one) => one !== undefined && one !== null,
  );
  if (isSchema(schema)) return { schema };
  if (type === "json_object" && schema === undefined) return OBJECT;
  throw invalid(
    field,
    'response_format has no JSON Schema. Send it as {"type":"json_schema","json_schema":{"name":"…","schema":{…}}}.',
  );
}

function outputsIn(body: Body, field: string): Form | undefined {
  const outputs = recordOf(body, field) ?? {};
  refuseUnsupported(outputs, `${field}.`);
  const [first, second] = formsIn(outputs, OUTPUTS, `${field}.`);
  if (second) throw invalid(second.field, `Send one form alone in ${field}.`);
  return first?.form;
}

function objectIn(body: Body, field: string, parent?: string): Form | undefined {
  return booleanOf(body, field, parent) ? OBJECT : undefined;
}

function schemaIn(body: Body, field: string, parent = ""): Form {
  const value = fieldOf(body, field);
  const schema = typeof value === "string" ? parsed(value) : value;
  if (isSchema(schema)) return { schema };
  throw invalid(parent + field, `${parent}${field} must be a JSON Schema, or its text.`);
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function choicesIn(body: Body, field: string, parent = ""): Form {
  const value = fieldOf(body, field);
  const choices: unknown[] = Array.isArray(value) ? value : [];
  const isRight = choices.every((one) => typeof one === "string" && one !== "");
  const isList = choices.length > 0 && choices.length <= MOST_CHOICES;
  if (isRight && isList) return { choices: [...new Set(choices as string[])] };
  throw invalid(
    parent + field,
    `${parent}${field} must be a list of 1 to ${MOST_CHOICES} texts that are not empty.`,
  );
}

function patternIn(body: Body, field: string, parent = ""): Form {
  const pattern = fieldOf(body, field);
  if (typeof pattern === "string") return { pattern };
  throw invalid(parent + field, `${parent}${field} must be a regular expression.`);
}

function isSchema(value: unknown): value is JsonSchema {
  return isRecord(value) || typeof value === "boolean";
}
