import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { scratchFile } from "../embedded/scratch.ts";
import { frozen } from "./materialized.ts";
import { fixture } from "./tables/tables.ts";

type Json = Record<string, unknown>;

const CITY = { type: "string" };
const PLACE = { type: "object", properties: { lat: { type: ["number", "null"] } } };

/** What a row teaches of a call's arguments and its tool, and the notes. */
async function learned(args: unknown, parameters?: Json, tool: Json = {}) {
  const called = { name: "weather", arguments: args };
  const messages = [
    { role: "user", content: "q" },
    { role: "assistant", content: "", tool_calls: [{ id: null, function: called }] },
  ];
  const described = { name: "weather", parameters, ...tool };
  const tools = parameters && [{ type: "function", function: described }];
  const path = scratchFile("rows.jsonl", JSON.stringify({ messages, tools }));
  const { rows, notes } = await frozen(path);
  const row = JSON.parse(rows[0] ?? "") as {
    messages: { tool_calls?: { function: { arguments: unknown } }[] }[];
    tools?: { function: unknown }[];
  };
  const [call] = row.messages[1]?.tool_calls ?? [];
  return { call, tool: row.tools?.[0]?.function, notes };
}

function object(properties: Json, more: Json = {}): Json {
  return { type: "object", properties, ...more };
}

function note(count: number): string {
  return `dropped ${count} null${count === 1 ? "" : "s"} that Arrow padded calls and tools with in FILE (first: FILE:1)`;
}

test.each<[string, unknown, Json | undefined, unknown, number]>([
  [
    "a key that the tool doesn't have",
    { city: "Rome", to: null },
    object({ city: CITY }),
    { city: "Rome" },
    1,
  ],
  [
    ...(["a key that the tool has", { city: null }] as const),
    ...([object({ city: { type: ["string", "null"] } }), { city: null }, 0] as const),
  ],
  [
    "a key of a property that is padding itself",
    { city: "Rome", to: null },
    object({ city: CITY, to: null }),
    { city: "Rome" },
    2,
  ],
  ["a key that is required", { to: null }, object({}, { required: ["to"] }), { to: null }, 0],
  [
    "objects in objects",
    { place: { lat: null, x: null } },
    object({ place: PLACE }),
    { place: { lat: null } },
    1,
  ],
  [
    ...(["objects in lists", { all: [{ x: null }, { lat: null, x: null }, null] }] as const),
    ...([
      object({ all: { type: "array", items: PLACE } }),
      { all: [{}, { lat: null }, null] },
      2,
    ] as const),
  ],
  [
    ...([
      "references and choices, as pydantic writes them",
      { place: { lat: null, x: null } },
    ] as const),
    object(
      { place: { anyOf: [{ $ref: "#/$defs/Place" }, { type: "null" }] } },
      { $defs: { Place: PLACE } },
    ),
    ...([{ place: { lat: null } }, 1] as const),
  ],
  [
    "an object of nulls alone",
    { city: "Rome", place: { lat: null } },
    object({ city: CITY }),
    { city: "Rome" },
    1,
  ],
  [
    ...(["keys of any name", { a: null }] as const),
    ...([
      { type: "object", additionalProperties: { type: ["string", "null"] } },
      { a: null },
      0,
    ] as const),
  ],
  ["a text", '{"to":null}', object({}), '{"to":null}', 0],
])("nulls in a call's arguments: %s", async (_, args, parameters, expected, dropped) => {
  const { call, notes } = await learned(args, parameters);
  expect(call).toEqual({ function: { name: "weather", arguments: expected } });
  expect(notes).toEqual(dropped === 0 ? [] : [note(dropped)]);
});

test("nulls in a tool are dropped where no schema has them", async () => {
  const padded = object(
    {
      city: { type: "string", enum: null, items: null, default: null },
      unit: { type: ["string", "null"], default: null, enum: ["C", null] },
      to: null,
      amount: { type: null, enum: null },
      place: { anyOf: [{ type: "object", properties: { lat: null } }, null] },
    },
    { required: null, additionalProperties: false },
  );
  const { tool, notes } = await learned({}, padded, { description: null });
  expect(tool).toEqual({
    name: "weather",
    parameters: object(
      {
        city: { type: "string" },
        unit: { type: ["string", "null"], default: null, enum: ["C", null] },
        place: { anyOf: [{ type: "object", properties: {} }] },
      },
      { additionalProperties: false },
    ),
  });
  expect(notes).toEqual([note(10)]);
});

test("a default of null is what a file of JSON says, where no other null shows that Arrow was there", async () => {
  const { tool, notes } = await learned({}, object({ city: { ...CITY, default: null } }), {
    description: null,
  });
  expect(tool).toEqual({
    name: "weather",
    parameters: object({ city: { ...CITY, default: null } }),
  });
  expect(notes).toEqual([note(1)]);
});

test.each<[string, Json | undefined]>([
  ["that its property doesn't have", object({ city: CITY })],
  ["of a tool that isn't described", undefined],
])("a null %s is kept, with a warning", async (_, parameters) => {
  const { call, notes } = await learned({ city: null }, parameters);
  expect(call).toEqual({ function: { name: "weather", arguments: { city: null } } });
  expect(notes).toEqual([
    "warning: 1 null in calls of FILE that no tool's schema allows (first: FILE:1): they are learned; remove them if they are Arrow's padding",
  ]);
});

test("rows that went through Arrow teach what they taught before", async () => {
  const before = readFileSync(fixture("padding.jsonl"), "utf8").trimEnd().split("\n");
  const { rows, notes } = await frozen(fixture("padding.parquet"));
  expect(rows.map((line) => JSON.parse(line) as unknown)).toEqual(
    before.map((line) => JSON.parse(line) as unknown),
  );
  expect(notes).toEqual([
    expect.stringMatching(/^dropped \d+ nulls that Arrow padded calls and tools with in FILE /),
  ]);
});

test("nulls of calls in Parquet are dropped without a description of the tool, too", async () => {
  const columns = { messages: "messages" };
  const { rows } = await frozen(fixture("padding.parquet"), { columns });
  expect(rows[0]).toContain('"arguments":{"city":"Rome"}');
});
