// `npm run openapi`: writes what `protocol/eventSchemas.ts` says of the events' data into
// docs/openapi.json and docs/http.md; with `--check`, only says whether they have it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toJsonSchema } from "@valibot/to-json-schema";
import { format } from "oxfmt";
import { ROOT } from "./setup.mjs";

const { ARTIFACT, EVENT_SCHEMAS } = await import(join(ROOT, "dist/protocol/eventSchemas.js"));
const { STREAMED_EVENTS } = await import(join(ROOT, "dist/protocol/event.js"));

const NUMBER = { type: ["number", "null"] };
const PATH = { type: "string", pattern: "^artifacts/" };
/** Of the schemas that are code. */
const OWN = {
  metrics: { type: "object", additionalProperties: NUMBER },
  environment: { type: "object", additionalProperties: { type: "string" } },
  path: PATH,
};

function schemaOf(schema) {
  const { $schema: _, ...found } = toJsonSchema(schema, {
    errorMode: "ignore",
    typeMode: "output",
  });
  return strict(found);
}

function strict({ properties: found = {}, required = [], ...rest }) {
  // A maximum is that of whole numbers.
  const fields = Object.entries(found).map(([name, { maximum: _, ...property }]) => {
    const { description } = property;
    if (name in OWN) return [name, { ...OWN[name], ...(description && { description }) }];
    if (property.anyOf) return [name, { ...NUMBER, ...(description && { description }) }];
    if (property.type === "object") return [name, strict(property)];
    return [name, property.items ? { ...property, items: strict(property.items) } : property];
  });
  const properties = Object.fromEntries(fields);
  return { ...rest, properties, required, additionalProperties: false };
}

/** `training.log` is `TrainingLog`. */
const componentOf = (event) =>
  event.replaceAll(/(^|\.)(\w)/g, (_, _dot, letter) => letter.toUpperCase());

function renewOpenApi(text) {
  const api = JSON.parse(text);
  const { schemas } = api.components;
  for (const event of STREAMED_EVENTS) schemas[componentOf(event)] = schemaOf(EVENT_SCHEMAS[event]);
  schemas.Artifact = schemaOf(ARTIFACT);
  return JSON.stringify(api, undefined, 2);
}

function renewPage(text) {
  return STREAMED_EVENTS.reduce((page, event) => {
    const fields = Object.keys(EVENT_SCHEMAS[event].entries).map((name) => `\`${name}\``);
    return page.replace(
      new RegExp(`^(\\| \`${event}\` +\\|).*$`, "m"),
      `$1 ${fields.join(", ")} |`,
    );
  }, text);
}

for (const [name, renew] of [
  ["docs/openapi.json", renewOpenApi],
  ["docs/http.md", renewPage],
]) {
  const path = join(ROOT, name);
  const now = readFileSync(path, "utf8");
  const { code } = await format(name, renew(now), { printWidth: 100 });
  if (code === now) continue;
  if (process.argv.includes("--check")) {
    console.error(`${name} lacks what protocol/eventSchemas.ts says. Run npm run openapi.`);
    process.exitCode = 1;
  } else {
    writeFileSync(path, code);
  }
}
