import { readFileSync } from "node:fs";
import addFormats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "vitest";
import { type RawAnswer, parseFrames } from "../uiServer.ts";

type Schema = Record<string, unknown>;

interface ResponseObject {
  "x-status"?: number;
  headers?: Record<string, Reference & { schema: Schema; required?: boolean }>;
  content?: Record<string, { schema: Schema; "x-events"?: Record<string, Schema> }>;
}

interface Reference {
  $ref?: string;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
}

export interface Operation {
  parameters?: Parameter[];
  responses: Record<string, ResponseObject & Reference>;
}

interface Components {
  schemas: Record<string, Schema>;
  headers: Record<string, { schema: Schema }>;
  responses: Record<string, ResponseObject>;
  securitySchemes: Record<string, Parameter>;
}

interface HttpReference {
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: Components;
}

/** `docs/openapi.json`. */
export const REFERENCE = JSON.parse(
  readFileSync(new URL("../../docs/openapi.json", import.meta.url), "utf8"),
) as HttpReference;

/** Each operation by its method and path: `GET /api/jobs`. */
export const OPERATIONS = new Map(
  Object.entries(REFERENCE.paths).flatMap(([path, item]) =>
    ["get", "head", "post", "put", "patch", "delete"].flatMap((method) => {
      const found = item[method];
      return found ? [[`${method.toUpperCase()} ${path}`, found] as [string, Operation]] : [];
    }),
  ),
);

const SCHEMAS = "#/components/schemas/";
const DEFINITIONS = "openapi#/$defs/";
const ajv = new Ajv2020({ allowUnionTypes: true });
addFormats.default(ajv);
ajv.addSchema(relink({ $id: "openapi", $defs: REFERENCE.components.schemas }));

/** Where a JSON Schema has what OpenAPI has among its components. */
function relink(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema).replaceAll(SCHEMAS, DEFINITIONS)) as Schema;
}

/** Fails unless a value is what a schema of the reference says. */
export function expectValid(schema: Schema, value: unknown, what: string): void {
  const validate = ajv.compile(relink(schema));
  const isValid = validate(value);
  expect({ what, value, errors: isValid ? [] : validate.errors }).toMatchObject({ errors: [] });
}

/** Added by Node itself. */
const OWN_HEADERS = ["date", "connection", "keep-alive", "transfer-encoding", "content-length"];

/** Fails unless an answer has the status, headers, content type and body that the reference says. */
export function expectAnswer(operation: string, answer: RawAnswer): void {
  const { responses } = OPERATIONS.get(operation) ?? { responses: {} };
  const what = `${operation} ${answer.status}`;
  const found = responses[answer.status];
  expect(found, `${what} is in the reference`).toBeDefined();
  expectResponse(resolve(found, "responses"), answer, what);
}

/** The statuses that any request may get, whatever it asks for, and their answers. */
export const ANYWHERE = new Map(
  Object.values(REFERENCE.components.responses).flatMap((response): [number, ResponseObject][] =>
    response["x-status"] === undefined ? [] : [[response["x-status"], response]],
  ),
);

/** As `expectAnswer`, for an answer that no single operation has. */
export function expectAnywhere(answer: RawAnswer, what: string): void {
  expectResponse(ANYWHERE.get(answer.status) ?? {}, answer, what);
}

function expectResponse(response: ResponseObject, answer: RawAnswer, what: string): void {
  const names = Object.keys(answer.headers).filter((name) => !OWN_HEADERS.includes(name));
  const { "content-type": type, ...headers } = answer.headers;
  const documented = Object.entries(response.headers ?? {});
  const always = documented.filter(([, { required }]) => required !== false);
  expect(lower(documented), what).toEqual(
    expect.arrayContaining(names.filter((name) => name !== "content-type")),
  );
  expect(Object.keys(headers), what).toEqual(expect.arrayContaining(lower(always)));
  for (const [name, header] of documented) {
    const value = [headers[name.toLowerCase()]].flat()[0];
    const { schema } = resolve(header, "headers");
    if (value !== undefined) expectValid(schema, value, `${what} ${name}`);
  }
  if (answer.body === "") return;
  const media = String(type).replace(/; charset=utf-8$/, "");
  const content = response.content?.[media];
  expect(content, `${what} ${media} is in the reference`).toBeDefined();
  if (content) expectBody(content, media, answer.body, what);
}

function expectBody(
  content: NonNullable<ResponseObject["content"]>[string],
  media: string,
  body: string,
  what: string,
): void {
  const isJson = media === "application/json";
  expectValid(content.schema, isJson ? JSON.parse(body) : body, what);
  if (media === "text/event-stream") expectEvents(body);
}

/** The events that an event stream may have, and the schema of each one's data. */
export const EVENTS =
  OPERATIONS.get("GET /api/jobs/{id}/events")?.responses["200"]?.content?.["text/event-stream"]?.[
    "x-events"
  ] ?? {};

/** Fails unless each event of a stream is in the reference and carries what it says. */
export function expectEvents(stream: string): void {
  for (const { event = "", data = "" } of parseFrames(stream)) {
    const schema = EVENTS[event];
    expect(schema, `${event} is in the reference`).toBeDefined();
    if (schema) expectValid(schema, JSON.parse(data), event);
  }
}

function lower(entries: [string, unknown][]): string[] {
  return entries.map(([name]) => name.toLowerCase());
}

function resolve<T>(object: (T & Reference) | undefined, kind: "headers" | "responses"): T {
  const name = object?.$ref?.split("/").at(-1);
  return (name === undefined ? object : REFERENCE.components[kind][name]) as T;
}
