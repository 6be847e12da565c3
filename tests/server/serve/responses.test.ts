import { readFileSync } from "node:fs";
import type { Responses } from "openai/resources/responses/responses";
import { describe, expect, it, test } from "vitest";
import { KitError } from "../../../protocol/error.ts";
import type { InferResult } from "../../../protocol/infer.ts";
import { type ApiError } from "../../../server/serve/apiError.ts";
import { responseRequest } from "../../../server/serve/responses/responseRequest.ts";
import { apiErrorOf, sayBack, serve, standIn } from "./serveServer.ts";

const ask = (more: object = {}) => responseRequest({ model: "m", input: "1", ...more });
const requestOf = (more: object) => ask(more).requests[0];
const user = { role: "user", content: "1" };
const message = (content: unknown, role = "user") => ({ type: "message", role, content });
const look = { type: "function", name: "look", parameters: { type: "object" } };
const CALL = { type: "function", function: { name: "look", arguments: { at: "7" } } } as const;
const RESULT: InferResult = { text: "ab", finishReason: "stop", promptTokens: 3, tokens: 2 };
const a = { token: "a", bytes: [97], logprob: -0.5 };

/** Streams the text by characters. */
const answering = (result: InferResult) =>
  standIn((_, onDelta) => {
    for (const [at, text] of [...result.text].entries()) {
      onDelta?.({ text, ...(result.logprobs && { logprobs: result.logprobs.slice(at, at + 1) }) });
    }
    if (result.toolCalls) onDelta?.({ text: "", toolCalls: result.toolCalls });
    return Promise.resolve(result);
  });

/** Events of a stream, whose names and numbers are right. */
function eventsIn(text: string): Responses.ResponseStreamEvent[] {
  return text
    .split("\n\n")
    .filter((event) => event !== "")
    .map((event, at) => {
      const [, type, json = ""] = /^event: (.+)\ndata: (.+)$/.exec(event) ?? [];
      const data = JSON.parse(json) as Responses.ResponseStreamEvent;
      expect(data).toMatchObject({ type, sequence_number: at });
      return data;
    });
}

describe("a response's request", () => {
  it("is read as the conversation that it is", () => {
    const input = [
      { role: "user", content: "Look!" },
      {
        type: "reasoning",
        id: "r",
        summary: [],
        content: [{ type: "reasoning_text", text: "Hm" }],
      },
      { type: "reasoning", id: "s", summary: [] },
      {
        ...message([{ type: "output_text", text: "I look.", annotations: [] }], "assistant"),
        id: "m",
      },
      { type: "function_call", id: "f", call_id: "a", name: "look", arguments: '{"at":1}' },
      { type: "function_call", call_id: "b", name: "look", arguments: "{}" },
      {
        type: "function_call_output",
        call_id: "b",
        output: [{ type: "input_text", text: "there" }],
      },
      { type: "function_call_output", call_id: "a", output: "here" },
      message("Done.", "assistant"),
      message([{ type: "input_text", text: "And?" }], "developer"),
      { type: "function_call", call_id: "c", name: "look", arguments: "" },
      { type: "function_call_output", call_id: "c", output: "gone" },
    ];
    const call = (id: string, given: string) => ({
      ...{ id, type: "function", function: { name: "look", arguments: given } },
    });
    const { requests, names } = ask({ instructions: "Be short.", input });
    expect(requests[0]).toEqual({
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", content: "Look!" },
        {
          ...{ role: "assistant", reasoning_content: "Hm" },
          content: [{ type: "text", text: "I look." }],
          tool_calls: [call("a", '{"at":1}'), call("b", "{}")],
        },
        { role: "tool", tool_call_id: "a", content: "here" },
        { role: "tool", tool_call_id: "b", content: [{ type: "text", text: "there" }] },
        { role: "assistant", content: "Done." },
        { role: "developer", content: [{ type: "text", text: "And?" }] },
        { role: "assistant", content: null, tool_calls: [call("c", "")] },
        { role: "tool", tool_call_id: "c", content: "gone" },
      ],
    });
    expect(names).toMatchObject({
      ...{ messages: "input", "messages[0]": "instructions", "messages[2]": "input[1]" },
      ...{ "messages[3]": "input[7]", "messages[7]": "input[10]" },
    });
  });

  it.each([
    [
      { max_output_tokens: 5, temperature: 0, top_p: 0.5 },
      { maxTokens: 5, temperature: 0, topP: 0.5 },
    ],
    [{ text: { format: { type: "text" }, verbosity: "low" } }, {}],
    [{ text: { format: { type: "json_object" } } }, { schema: { type: "object" } }],
    [
      { text: { format: { type: "json_schema", name: "a", strict: true, schema: { a: 1 } } } },
      { schema: { a: 1 } },
    ],
    [{ include: ["message.output_text.logprobs"] }, { logprobs: 0 }],
    [{ include: ["reasoning.encrypted_content"], top_logprobs: 2 }, { logprobs: 2 }],
    [{ top_logprobs: 0 }, {}],
    [
      { reasoning: { effort: "none", summary: "auto" } },
      { chatTemplateKwargs: { reasoning_effort: "none", enable_thinking: false } },
    ],
    [
      { guided_choice: ["a"], seed: 7, stop: "b" },
      { choices: ["a"], seed: 7, stop: ["b"] },
    ],
    [
      {
        ...{ store: false, previous_response_id: null, conversation: null, background: false },
        ...{ truncation: "disabled", metadata: { a: "b" }, user: "a", service_tier: "auto" },
        ...{ prompt: null, tools: [], context_management: [], max_tool_calls: 3, logprobs: null },
      },
      {},
    ],
    [
      {
        text: {
          format: { type: "json_schema", schema: { type: "null" }, json_schema: { schema: {} } },
        },
      },
      { schema: { type: "null" } },
    ],
  ])("is asked of the model: %j", (more, asked) => {
    expect(requestOf(more)).toEqual({ messages: [user], ...asked });
  });

  it("has its tools in the form that chat templates read", () => {
    const odd = { ...look, name: "find", strict: null, description: "Finds." };
    const tools = [{ type: "function", function: { name: "look", parameters: look.parameters } }];
    const parts = { name: "find", description: "Finds.", parameters: look.parameters };
    tools.push({ type: "function", function: parts });
    const sent = { tools: [look, odd], parallel_tool_calls: false };
    expect(requestOf(sent)).toEqual({ messages: [user], tools, parallelToolCalls: false });
    const named = { ...sent, tool_choice: { type: "function", name: "find" } };
    expect(requestOf(named)).toMatchObject({ tools, toolChoice: { name: "find" } });
    const tool_choice = { type: "allowed_tools", mode: "auto", tools: [{ name: "find" }] };
    const allowed = ask({ ...sent, tool_choice });
    expect(allowed.requests[0]).toMatchObject({ tools: tools.slice(1), toolChoice: "auto" });
    expect(allowed.names).toMatchObject({ "tools[0].function": "tools[1]" });
  });

  const called = (call_id: string) => ({
    ...{ type: "function_call", call_id, name: "look", arguments: "{}" },
  });
  const output = (call_id: string) => ({ type: "function_call_output", call_id, output: "" });
  const image = { type: "input_image", image_url: "data:," };
  it.each([
    [
      { input: undefined },
      "input",
      /^input must be a string, or a list of at least one message\.$/,
    ],
    [{ input: [], instructions: "a" }, "input", /at least one message/],
    [{ input: [1] }, "input[0]", /must be an object/],
    [{ input: [{ role: "tool", content: "" }] }, "input[0].role", /system, developer, user or/],
    [
      { input: [message([image])] },
      "input[0].content[0]",
      /has the type "input_image"\. Send only texts/,
    ],
    [{ input: [message([{ type: "input_file" }])] }, "input[0].content[0]", /Send only texts/],
    [{ input: [message([{ type: "input_text" }])] }, "input[0].content[0]", /Send only texts/],
    [{ input: [message(undefined)] }, "input[0].content", /a string, or a list of parts/],
    [
      { input: [{ type: "web_search_call" }] },
      "input[0].type",
      /has the type "web_search_call"\. Send only/,
    ],
    [
      { input: [{ type: "item_reference", id: "a" }] },
      "input[0]",
      /kit serve stores none\. Send the item/,
    ],
    [{ input: [{ id: "a" }] }, "input[0]", /kit serve stores none/],
    [
      { input: [{ ...called("a"), arguments: "[1]" }, output("a")] },
      "input[0].arguments",
      /must be a JSON object, as a string/,
    ],
    [
      { input: [{ type: "function_call_output", output: "" }] },
      "input[0].call_id",
      /must be a string/,
    ],
    [
      { input: [called("a"), output("a"), output("a")] },
      "input[2].call_id",
      /a second output of one call/,
    ],
    [{ input: [output("a")] }, "input[0].call_id", /^No tool call found for .* output a\.$/],
    [{ input: [called("a"), "x"] }, "input[0]", /^No tool output found for .*call a\. Send a/],
    [{ user: 5 }, "user", /must be a string/],
    [
      { input: [{ type: "reasoning", summary: [], encrypted_content: "a" }] },
      "input[0].encrypted_content",
      /Leave the item out/,
    ],
    [{ instructions: 1 }, "instructions", /must be a string/],
    [
      { tools: [{ type: "web_search" }] },
      "tools[0].type",
      /kit serve runs no tools\. Send a function/,
    ],
    [{ tools: [{ type: "custom", name: "a" }] }, "tools[0].type", /kit serve runs no tools/],
    [{ tools: [CALL] }, "tools[0]", /is not \{"type":"function","name":"…","parameters":\{…\}\}/],
    [{ tools: {} }, "tools", /must be a list/],
    [
      { tools: [look], tool_choice: { type: "mcp" } },
      "tool_choice",
      /or \{"type":"function","name":"…"\} with/,
    ],
    [
      { tools: [look], tool_choice: { type: "function", name: "a" } },
      "tool_choice.name",
      /one of the tools/,
    ],
    [{ text: { format: { type: "xml" } } }, "text.format.type", /must be text, json_object/],
    [
      { text: { format: { type: "json_schema" } } },
      "text.format.schema",
      /\{"type":"json_schema","name":"…"/,
    ],
    [
      { text: { format: { type: "json_object" } }, guided_json: {} },
      "guided_json",
      /Send text or guided_json/,
    ],
    [
      { tools: [look], tool_choice: "required", text: { format: { type: "json_object" } } },
      "tool_choice",
      /^Send text or a tool_choice that requires a call/,
    ],
    [{ include: "a" }, "include", /list of strings/],
    [{ reasoning: { summary: "detailed" } }, "reasoning.summary", /Leave it out, or send "auto"/],
    [{ reasoning: { effort: 1 } }, "reasoning.effort", /must be a string/],
    [{ max_output_tokens: 0 }, "max_output_tokens", /whole number of at least 1/],
    [{ metadata: "a" }, "metadata", /must be an object/],
    [{ metadata: { a: 1 } }, "metadata", /16 pairs of strings/],
    [
      { input: [{ role: "assistant", content: "a", tool_calls: [CALL] }] },
      "input[0].tool_calls",
      /Send each call as an item of type function_call/,
    ],
    [{ input: [called("a"), called("a"), output("a")] }, "input[1].call_id", /an earlier call/],
    [{ temperature: 3 }, "temperature", /from 0 to 2/],
    [{ top_k: 40 }, "top_k", /not supported/],
    [{ max_tokens: 5 }, "max_tokens", /Send max_output_tokens/],
    [{ messages: [user] }, "messages", /Send them as input/],
    [{ response_format: { type: "json_object" } }, "response_format", /Send text\.format/],
    [{ reasoning_effort: "low" }, "reasoning_effort", /Send reasoning, such as/],
    [{ logprobs: true }, "logprobs", /Send include/],
    [{ grammar: "root" }, "grammar", /Send text\.format/],
  ])("is refused with the field's name: %j", (more, param, sentence) => {
    let refused: unknown;
    try {
      ask(more);
    } catch (error) {
      refused = error;
    }
    const { status, details, message } = refused as ApiError;
    expect([status, details.param]).toEqual([400, param]);
    expect(message).toMatch(sentence);
  });

  const STORED = {
    ...{ previous_response_id: "resp_1", conversation: "conv_1", store: true, background: true },
    ...{ prompt: { id: "pmpt_1" }, truncation: "auto", context_management: [{}] },
    moderation: { model: "a" },
  };
  const READ = [
    ...["include", "input", "instructions", "max_output_tokens", "metadata", "model", "user"],
    ...["parallel_tool_calls", "reasoning", "stream", "stream_options", "temperature", "text"],
    ...["tool_choice", "tools", "top_logprobs", "top_p", "safety_identifier", "prompt_cache_key"],
  ];
  const IGNORED = ["prompt_cache_options", "prompt_cache_retention", "service_tier"];

  it.each(Object.entries(STORED))("needs no store: %s", (name, value) => {
    expect(() => ask({ [name]: value })).toThrow(new RegExp(`^${name} is not supported\\. [A-Z]`));
  });

  it("has no field of the openai package that is not read, ignored or refused", () => {
    const file = "node_modules/openai/resources/responses/responses.d.ts";
    const [, body = ""] = readFileSync(file, "utf8").split("interface ResponseCreateParamsBase {");
    const [fields = ""] = body.split("\n}");
    const sent = [...fields.matchAll(/^    (\w+)\??:/gm)].map(([, field]) => field);
    expect(sent.sort()).toEqual([...READ, ...IGNORED, ...Object.keys(STORED)].sort());
  });
});

const usage = {
  ...{ input_tokens: 3, input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 } },
  ...{ output_tokens: 2, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 5 },
};
const textPart = { type: "output_text", text: "ab", annotations: [], logprobs: [] };
const messageItem = {
  ...{ id: expect.stringMatching(/^msg_[0-9a-f]{32}$/), type: "message", role: "assistant" },
  ...{ status: "completed", content: [textPart] },
};
const callItem = {
  ...{ id: expect.stringMatching(/^fc_[0-9a-f]{32}$/), type: "function_call", name: "look" },
  ...{ call_id: expect.stringMatching(/^call_[0-9a-f]{24}$/), arguments: '{"at":"7"}' },
  status: "completed",
};

test("a response repeats its request's settings, to the last digit", async () => {
  const { post } = await serve(answering(RESULT));
  const settings = {
    ...{ instructions: "Be short.", max_output_tokens: 9, metadata: { a: "b" }, top_p: 0.5 },
    ...{ tools: [look], tool_choice: "required", parallel_tool_calls: false, user: "me" },
  };
  const tools = '[{"type":"function","name":"look","parameters":{"maximum":9223372036854775807}}]';
  const asked = JSON.stringify({ model: "dates", input: "1", ...settings, tools: 0 });
  const response = await post("responses", asked.replace('"tools":0', `"tools":${tools}`));
  const text = await response.text();
  expect(text).toContain('"maximum":9223372036854775807');
  expect(JSON.parse(text)).toEqual({
    id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
    ...{
      object: "response",
      created_at: expect.any(Number),
      model: "job-1",
      output: [messageItem],
    },
    ...{ status: "completed", completed_at: expect.any(Number), error: null, usage },
    ...{ incomplete_details: null, background: false, store: false, previous_response_id: null },
    ...{ reasoning: { effort: null, summary: null }, service_tier: "default", temperature: 0 },
    ...{ text: { format: { type: "text" } }, top_logprobs: 0, truncation: "disabled" },
    ...settings,
    tools: [{ ...(JSON.parse(tools) as object[])[0], strict: true }],
  });
});

test.each([
  [undefined, false],
  ["required", true],
])(
  "says whether arguments must follow their schema: tool_choice %j",
  async (tool_choice, strict) => {
    const { post } = await serve(answering(RESULT));
    const tools = [{ type: "function", name: "look", strict: true }];
    const response = await post("responses", { model: "dates", input: "1", tools, tool_choice });
    const [tool] = ((await response.json()) as Responses.Response).tools;
    expect(tool).toEqual({ ...tools[0], parameters: null, strict });
  },
);

test("a stream has OpenAI's events in OpenAI's order, which end as the whole response", async () => {
  const result: InferResult = { ...RESULT, finishReason: "toolCalls", toolCalls: [CALL, CALL] };
  const { post } = await serve(answering(result));
  const whole = await (await post("responses", { model: "latest", input: "1" })).json();
  const output = [messageItem, callItem, callItem];
  expect(whole).toMatchObject({ status: "completed", output, usage });
  const response = await post("responses", { model: "latest", input: "1", stream: true });
  const events = eventsIn(await response.text());
  const call = ["output_item.added", "function_call_arguments.delta"];
  const called = [...call, "function_call_arguments.done", "output_item.done"];
  expect(events.map(({ type }) => type.replace("response.", ""))).toEqual([
    ...["created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"],
    ...["output_text.delta", "output_text.done", "content_part.done", "output_item.done"],
    ...[...called, ...called, "completed"],
  ]);
  const at = (index: number) => ({ item_id: expect.any(String), output_index: index });
  expect(events[4]).toMatchObject({ ...at(0), content_index: 0, delta: "a", logprobs: [] });
  expect(events[6]).toMatchObject({ ...at(0), content_index: 0, text: "ab" });
  expect(events[7]).toMatchObject({ part: textPart });
  expect(events[9]).toMatchObject({ item: { ...callItem, status: "in_progress", arguments: "" } });
  expect(events[10]).toMatchObject({ ...at(1), delta: callItem.arguments });
  expect(events[15]).toMatchObject({ ...at(2), name: "look", arguments: callItem.arguments });
  const done = events.flatMap((event) =>
    event.type === "response.output_item.done" ? [event.item] : [],
  );
  expect(events.at(-1)).toMatchObject({ response: { status: "completed", output: done, usage } });
});

test("calls alone make no message, and no answer an empty one", async () => {
  const calls = await serve(answering({ ...RESULT, text: "", toolCalls: [CALL] }));
  const nothing = await serve(answering({ ...RESULT, text: "" }));
  for (const [{ post }, output] of [
    [calls, [callItem]],
    [nothing, [{ ...messageItem, content: [{ ...textPart, text: "" }] }]],
  ] as const) {
    const whole = await post("responses", { model: "latest", input: "1" });
    expect(await whole.json()).toMatchObject({ output });
    const streamed = await post("responses", { model: "latest", input: "1", stream: true });
    expect(eventsIn(await streamed.text()).at(-1)).toMatchObject({ response: { output } });
  }
});

test("an answer that is cut is incomplete, and has its logprobs", async () => {
  const logprobs = [..."ab"].map((token) => ({ ...a, token, top: [a] }));
  const { post } = await serve(answering({ ...RESULT, finishReason: "length", logprobs }));
  const tokens = [..."ab"].map((token) => ({ ...a, token, top_logprobs: [a] }));
  const state = {
    ...{ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    output: [{ status: "incomplete", content: [{ text: "ab", logprobs: tokens }] }],
  };
  const asked = { model: "latest", input: "1", include: ["message.output_text.logprobs"] };
  expect(await (await post("responses", asked)).json()).toMatchObject(state);
  const streamed = await post("responses", { ...asked, stream: true });
  const events = eventsIn(await streamed.text());
  expect(events[4]).toMatchObject({ delta: "a", logprobs: tokens.slice(0, 1) });
  expect(events.at(-1)).toMatchObject({ type: "response.incomplete", response: state });
});

test("an error in a stream is an event, and the response has failed", async () => {
  const { post, errors } = await serve(
    standIn((_, onDelta) => {
      onDelta?.({ text: "a" });
      return Promise.reject(new Error("/home/me"));
    }),
  );
  const response = await post("responses", { model: "latest", input: "1", stream: true });
  const [failure, last] = eventsIn(await response.text()).slice(-2);
  const message = "The model could not answer. See the output of kit serve for the reason.";
  expect(failure).toMatchObject({
    type: "error",
    message,
    error: { type: "server_error", message },
  });
  expect(last).toMatchObject({
    ...{
      type: "response.failed",
      response: { status: "failed", error: { code: "server_error", message } },
    },
  });
  expect(errors).toHaveLength(1);
});

test("an error of the model names the request's own fields", async () => {
  const message = "The template leaves out the system message in messages[0]: write it.";
  const fault = { option: "messages[0]" };
  const { post } = await serve(
    standIn(() => Promise.reject(new KitError("REQUEST_INVALID", message, { fault }))),
  );
  for (const [more, param] of [
    [{ instructions: "a" }, "instructions"],
    [{}, "input"],
  ] as const) {
    const response = await post("responses", { model: "latest", input: "1", ...more });
    expect([response.status, await apiErrorOf(response)]).toMatchObject([
      400,
      { param, message: message.replace("messages[0]", param) },
    ]);
  }
});

test("nothing is stored, and nothing embedded", async () => {
  const model = sayBack();
  const { url, post } = await serve(model);
  for (const [route, sentence] of [
    ["GET resp_1", "kit serve stores no responses. Keep them"],
    ["GET resp_1/input_items", "kit serve stores no responses"],
    ["DELETE resp_1", "kit serve stores no responses"],
    ["POST resp_1/cancel", "kit serve stores no responses"],
    ["POST input_tokens", "Read usage.input_tokens of a response."],
    ["POST compact", "Send fewer items"],
  ] as const) {
    const [method = "", path = ""] = route.split(" ");
    const response = await fetch(`${url}/v1/responses/${path}`, { method });
    expect([response.status, (await apiErrorOf(response)).message]).toEqual([
      404,
      expect.stringContaining(sentence),
    ]);
  }
  const embeddings = await post("embeddings", { model: "latest", input: "1" });
  expect((await apiErrorOf(embeddings)).message).toContain("Use an embedding model");
  expect((await fetch(`${url}/v1/responses`)).status).toBe(405);
  expect(model.asked).toEqual([]);
});
