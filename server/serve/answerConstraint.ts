import type { JsonSchema } from "../../protocol/infer.ts";
import { isRecord } from "../../protocol/isRecord.ts";
import { parseJson } from "../../protocol/json.ts";
import { invalid } from "./apiError.ts";
import { type Body, booleanOf, fieldOf, pathIn, recordOf } from "./fields.ts";
import { refuseUnsupported } from "./unsupported.ts";

type Constraint = { schema: JsonSchema } | { choices: readonly string[] } | { pattern: string };

/** A constraint, and the path of its field. */
type ParsedConstraint = readonly [constraint: Constraint, path: string];

/** @returns undefined for an unconstrained answer */
type ReadConstraint = (body: Body, field: string, parent?: string) => ParsedConstraint | undefined;

/** A request's constraint on its answer, and its field by `infer` option. */
export interface AnswerConstraint {
  constraint: Constraint | undefined;
  names: Record<string, string>;
}

/** Fields of vLLM, llama.cpp, Ollama and SGLang that constrain an answer. */
const FIELDS: Record<string, ReadConstraint> = {
  structured_outputs: outputsIn,
  guided_json: schemaIn,
  json_schema: schemaIn,
  guided_choice: choicesIn,
  guided_regex: patternIn,
  regex: patternIn,
  guided_json_object: objectIn,
  format: (body, field) =>
    fieldOf(body, field) === "json" ? [OBJECT, field] : schemaIn(body, field),
};
/** Fields of vLLM's `structured_outputs`. */
const STRUCTURED_OUTPUTS: Record<string, ReadConstraint> = {
  json: schemaIn,
  choice: choicesIn,
  regex: patternIn,
  json_object: objectIn,
};

const OBJECT: Constraint = { schema: { type: "object" } };
const MAX_CHOICES = 1000;

/**
 * @param formats how to read OpenAI's own fields
 * @throws ApiError 400 for an invalid constraint, or for two
 */
export function answerConstraint(
  body: Body,
  formats: Record<string, ReadConstraint> = { response_format: formatIn },
): AnswerConstraint {
  const [first, second] = constraintsIn(body, { ...formats, ...FIELDS });
  if (first && second) {
    throw invalid(second.field, `Send ${first.field} or ${second.field}, not both.`);
  }
  if (!first) return { constraint: undefined, names: {} };
  const [constraint, path] = first.parsed;
  return {
    constraint,
    names: Object.fromEntries(Object.keys(constraint).map((option) => [option, path])),
  };
}

function constraintsIn(body: Body, fields: Record<string, ReadConstraint>, parent = "") {
  return Object.entries(fields).flatMap(([field, read]) => {
    const value = fieldOf(body, field);
    const parsed = value === undefined || value === "" ? undefined : read(body, field, parent);
    return parsed ? [{ field: parent + field, parsed }] : [];
  });
}

export function formatIn(body: Body, field: string, parent = ""): ParsedConstraint | undefined {
  const format = recordOf(body, field, parent) ?? {};
  const at = parent + field;
  const type = fieldOf(format, "type");
  if (type === "text") return undefined;
  if (type === "regex")
    return patternIn(
      format,
      ["pattern", "value"].find((key) => key in format) ?? "pattern",
      `${at}.`,
    );
  if (type !== "json_object" && type !== "json_schema") {
    throw invalid(`${at}.type`, `${at}.type must be text, json_object, json_schema or regex.`);
  }
  const nested = recordOf(format, "json_schema", `${at}.`);
  // llama.cpp and SGLang put the schema beside the type, TGI in `value`.
  const candidates = {
    schema: fieldOf(format, "schema"),
    "json_schema.schema": fieldOf(nested ?? {}, "schema"),
    value: fieldOf(format, "value"),
  };
  const candidate = Object.entries(candidates).find(([, schema]) => schema !== undefined);
  if (!candidate && type === "json_object") return [OBJECT, at];
  // The Responses API has the schema beside the type.
  const [missing, form] = parent
    ? ["schema", '"name":"…","schema":{…}']
    : ["json_schema", '"json_schema":{"name":"…","schema":{…}}'];
  const [path, schema] = candidate ?? [nested ? "json_schema.schema" : missing];
  if (isSchema(schema)) return [{ schema }, `${at}.${path}`];
  throw invalid(
    `${at}.${path}`,
    `${at} has no JSON Schema. Send it as {"type":"json_schema",${form}}.`,
  );
}

function outputsIn(body: Body, field: string): ParsedConstraint | undefined {
  const outputs = recordOf(body, field) ?? {};
  refuseUnsupported(outputs, `${field}.`);
  const [first, second] = constraintsIn(outputs, STRUCTURED_OUTPUTS, `${field}.`);
  if (second) throw invalid(second.field, `Send only one constraint in ${field}.`);
  return first?.parsed;
}

function objectIn(body: Body, field: string, parent = ""): ParsedConstraint | undefined {
  return booleanOf(body, field, parent) ? [OBJECT, parent + field] : undefined;
}

function schemaIn(body: Body, field: string, parent = ""): ParsedConstraint {
  const value = fieldOf(body, field);
  const schema = typeof value === "string" ? tryParse(value) : value;
  if (isSchema(schema)) return [{ schema }, parent + field];
  throw invalid(parent + field, `${parent}${field} must be a JSON Schema, or its text.`);
}

function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function choicesIn(body: Body, field: string, parent = ""): ParsedConstraint {
  const value = fieldOf(body, field);
  const choices: unknown[] = Array.isArray(value) ? value : [];
  const isValid = (choice: unknown) => typeof choice === "string" && choice !== "";
  const isList = choices.length > 0 && choices.length <= MAX_CHOICES;
  if (isList && choices.every(isValid)) {
    return [{ choices: [...new Set(choices as string[])] }, parent + field];
  }
  throw invalid(
    pathIn(parent + field, value, isValid),
    `${parent}${field} must be a list of 1 to ${MAX_CHOICES} nonempty strings.`,
  );
}

function patternIn(body: Body, field: string, parent = ""): ParsedConstraint {
  const pattern = fieldOf(body, field);
  if (typeof pattern === "string") return [{ pattern }, parent + field];
  throw invalid(parent + field, `${parent}${field} must be a regular expression.`);
}

function isSchema(value: unknown): value is JsonSchema {
  return isRecord(value) || typeof value === "boolean";
}
