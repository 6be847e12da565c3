import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type ApiError } from "../../../server/serve/apiError.ts";
import { chatRequest } from "../../../server/serve/chatRequest.ts";
import { completionRequest } from "../../../server/serve/completionRequest.ts";

const messages = [{ role: "user", content: "1" }];
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }];
const chat = (more: object = {}) => chatRequest({ model: "m", messages, ...more });
const plain = (more: object = {}) => completionRequest({ model: "m", prompt: "1", ...more });

const NAMES = {
  ...{ toolChoice: "tool_choice", chatTemplateKwargs: "chat_template_kwargs" },
};

/** The field that a request is refused for, and the sentence. */
function refusal(read: () => unknown): [string | undefined, string] {
  try {
    read();
  } catch (error) {
    const { status, details, message } = error as ApiError;
    expect(status).toBe(400);
    return [details.param, message];
  }
  throw new Error("It was not refused.");
}

describe("a chat completion's request", () => {
  it("is greedy, whole and as long as the context unless it asks otherwise", () => {
    expect(chat()).toEqual({
      ...{ model: "m", isStreamed: false, includesUsage: false, names: NAMES },
      requests: [{ messages }],
    });
  });

  it("asks the model for what it says", () => {
    const asked = chat({
      ...{ temperature: 0.5, top_p: 0.9, seed: 7, max_tokens: 3, stop: "\n", stream: true },
      ...{ stream_options: { include_usage: true }, logprobs: true, top_logprobs: 2, tools },
      ...{ tool_choice: { type: "function", function: { name: "look" } } },
      parallel_tool_calls: false,
    });
    expect(asked).toEqual({
      ...{ model: "m", isStreamed: true, includesUsage: true, names: NAMES },
      requests: [
        {
          ...{ messages, temperature: 0.5, topP: 0.9, seed: 7, maxTokens: 3, stop: ["\n"] },
          ...{ logprobs: 2, tools, toolChoice: { name: "look" }, parallelToolCalls: false },
        },
      ],
    });
  });

  it("takes a JSON Schema from response_format, and none from text", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } };
    const format = { type: "json_schema", json_schema: { name: "a", strict: true, schema } };
    expect(chat({ response_format: format }).requests[0]?.schema).toEqual(schema);
    expect(chat({ response_format: { type: "text" } }).requests[0]).toEqual({ messages });
  });

  const schema = { type: "object", properties: { a: { type: "integer", maximum: 5 } } };
  it.each([
    [{ response_format: { type: "json_schema", json_schema: { name: "a", schema } } }, { schema }],
    [{ response_format: { type: "json_schema", schema } }, { schema }],
    [{ response_format: { type: "json_object", schema } }, { schema }],
    [{ response_format: { type: "json_object", value: schema } }, { schema }],
    [{ response_format: { type: "json_object" } }, { schema: { type: "object" } }],
    [{ response_format: { type: "regex", pattern: "a+" } }, { pattern: "a+" }],
    [{ response_format: { type: "regex", value: "a+" } }, { pattern: "a+" }],
    [{ guided_json: schema }, { schema }],
    [{ guided_json: JSON.stringify(schema) }, { schema }],
    [{ guided_choice: ["a", "b", "a"] }, { choices: ["a", "b"] }],
    [{ guided_regex: "a+" }, { pattern: "a+" }],
    [{ structured_outputs: { json: schema } }, { schema }],
    [{ structured_outputs: { json: JSON.stringify(schema), regex: null } }, { schema }],
    [{ structured_outputs: { choice: ["a"] } }, { choices: ["a"] }],
    [{ structured_outputs: { regex: "a+" } }, { pattern: "a+" }],
    [{ structured_outputs: { json_object: true } }, { schema: { type: "object" } }],
    [{ json_schema: schema }, { schema }],
    [{ json_schema: JSON.stringify(schema), grammar: "" }, { schema }],
    [{ format: schema }, { schema }],
    [{ guided_json_object: true, nvext: {} }, { schema: { type: "object" } }],
    [{ format: "json" }, { schema: { type: "object" } }],
    [{ regex: "a+", response_format: { type: "text" } }, { pattern: "a+" }],
  ])("takes the answer's form from the fields of every server: %j", (more, form) => {
    expect(chat(more).requests[0]).toEqual({ messages, ...form });
    expect(plain(more).requests[0]).toEqual({ prompt: "1", raw: true, maxTokens: 16, ...form });
  });

  it("passes variables of the chat template on", () => {
    const chat_template_kwargs = { enable_thinking: false };
    expect(chat({ chat_template_kwargs }).requests[0]).toEqual({
      ...{ messages, chatTemplateKwargs: chat_template_kwargs },
    });
  });

  it.each([
    ["low", { reasoning_effort: "low" }],
    ["none", { reasoning_effort: "none", enable_thinking: false }],
    [null, undefined],
  ])("passes the effort of reasoning on to the chat template: %j", (reasoning_effort, kwargs) => {
    expect(chat({ reasoning_effort }).requests[0]?.chatTemplateKwargs).toEqual(kwargs);
  });

  it.each([
    [{ mode: "any", tools }, "mode"],
    [{ mode: "auto" }, "tools"],
    [{ mode: "auto", tools: [...tools, { name: "find" }] }, "tools[1]"],
  ])("names what is wrong with the allowed tools: %j", (allowed_tools, path) => {
    const tool_choice = { type: "allowed_tools", allowed_tools };
    const [param, sentence] = refusal(() => chat({ tools, tool_choice }));
    expect(param).toBe(`tool_choice.allowed_tools.${path}`);
    expect(sentence).toContain(" must be ");
  });

  const [look, find] = ["look", "find"].map((name) => ({ type: "function", function: { name } }));
  it.each([
    { type: "allowed_tools", allowed_tools: { mode: "required", tools: [find] } },
    { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "find" }] },
  ])("shows the model the allowed tools alone: %j", (tool_choice) => {
    const { requests, names } = chat({ tools: [look, find], tool_choice });
    expect(requests[0]).toMatchObject({ tools: [find], toolChoice: "required" });
    expect(names["tools[0]"]).toBe("tools[1]");
  });

  it("draws anew each time when it asks for chance without a seed", () => {
    const seeds = Array.from({ length: 5 }, () => chat({ temperature: 1 }).requests[0]?.seed);
    expect(new Set(seeds).size).toBe(5);
    expect(chat({ temperature: 0 }).requests[0]?.seed).toBeUndefined();
  });

  it("takes neutral values, null, and fields that it does not know", () => {
    const neutral = {
      ...{ n: 1, presence_penalty: 0, frequency_penalty: 0, logit_bias: {}, logprobs: false },
      ...{ user: "a", store: true, metadata: { a: "b" }, service_tier: "auto", unknown: [1] },
      ...{ modalities: ["text"], parallel_tool_calls: true, tool_choice: "auto" },
      ...{ stop: null, seed: null, tools: null, response_format: null, stream: null },
      ...{ max_tokens: null, audio: null, functions: null, stream_options: null },
      ...{ top_k: -1, min_p: 0, repetition_penalty: 1, repeat_penalty: 1, typical_p: 1 },
      ...{ stop_token_ids: [], ignore_eos: false, min_tokens: 0, skip_special_tokens: true },
      ...{ guided_json: null, grammar: "", format: "", structured_outputs: null, n_predict: -1 },
      ...{ guided_json_object: false, raw: false, min_length: 0, bad_words_ids: [], lora: [] },
      ...{
        verbosity: "low",
        documents: [],
        add_generation_prompt: true,
        chat_template: null,
        extra_body: {},
        echo: false,
      },
    };
    expect(chat(neutral).requests[0]).toEqual({ messages });
  });

  it("takes texts in parts, developers, and tools' answers", () => {
    const conversation = [
      { role: "developer", content: [{ type: "text", text: "Be short." }] },
      { role: "user", content: "1" },
      {
        ...{ role: "assistant", content: null },
        tool_calls: [{ id: "a", type: "function", function: { name: "look", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "a", content: "2" },
    ];
    expect(chatRequest({ model: "m", messages: conversation }).requests[0]).toEqual({
      messages: conversation,
    });
  });

  const image = [{ type: "image_url", image_url: { url: "data:," } }];
  it.each([
    [{ model: undefined }, "model", /^model must be a string\. Send a name/],
    [{ model: 7 }, "model", /^model must be a string/],
    [{ messages: [] }, "messages", /^messages must be a list of at least one message\.$/],
    [{ messages: "1" }, "messages", /^messages must be a list/],
    [
      { messages: [{ role: "me", content: "" }] },
      "messages[0].role",
      /^messages\[0\] has the role "me"/,
    ],
    [
      { messages: [{ role: "user", content: image }] },
      "messages[0].content[0].type",
      /Kit reads only parts of type "text"/,
    ],
    [{ temperature: -1 }, "temperature", /^temperature must be a number from 0 to 2\.$/],
    [{ temperature: 1e308 }, "temperature", /from 0 to 2/],
    [{ temperature: "1" }, "temperature", /from 0 to 2/],
    [{ top_p: 0 }, "top_p", /^top_p must be a number above 0 and at most 1\.$/],
    [{ top_p: 1.5 }, "top_p", /above 0 and at most 1/],
    [{ seed: -1 }, "seed", /^seed must be a whole number of at least 0\.$/],
    [{ seed: 0.5 }, "seed", /whole number/],
    [{ seed: 2 ** 53 }, "seed", /whole number/],
    [{ max_tokens: 0 }, "max_tokens", /^max_tokens must be a whole number of at least 1\.$/],
    [{ max_tokens: 1.5 }, "max_tokens", /whole number/],
    [{ max_completion_tokens: 2 ** 53 }, "max_completion_tokens", /whole number/],
    [{ max_tokens: 1, max_completion_tokens: 2 }, "max_tokens", /not both/],
    [{ n: 2 }, "n", /^n is not supported\. Send one request for each answer\.$/],
    [{ stop: "" }, "stop", /of 1 to 1000 characters/],
    [{ stop: "a".repeat(1001) }, "stop", /of 1 to 1000 characters/],
    [{ stop: ["a", 1] }, "stop[1]", /^stop must be a string/],
    [{ stop: Array.from({ length: 17 }, String) }, "stop", /at most 16/],
    [{ stream: 1 }, "stream", /^stream must be true or false\.$/],
    [{ stream_options: {} }, "stream_options", /only with stream: true/],
    [{ stream: true, stream_options: [] }, "stream_options", /must be an object/],
    [
      { stream: true, stream_options: { include_usage: 1 } },
      "stream_options.include_usage",
      /true or false/,
    ],
    [{ logprobs: 2 }, "logprobs", /^logprobs must be true or false\.$/],
    [{ top_logprobs: 2 }, "top_logprobs", /only with logprobs: true/],
    [{ logprobs: true, top_logprobs: 21 }, "top_logprobs", /whole number from 0 to 20/],
    [{ tools: {} }, "tools", /^"tools" is not a list\. Send it in OpenAI's format\.$/],
    [{ tools: [...tools, { type: "web_search" }] }, "tools[1].type", /tools\[1\] is not /],
    [{ tool_choice: "required" }, "tool_choice", /with tools/],
    [
      { tools, tool_choice: { type: "function", function: { name: "find" } } },
      "tool_choice.function.name",
      /the name of one of the tools/,
    ],
    [{ tools, tool_choice: { name: "look" } }, "tool_choice", /must be/],
    [{ parallel_tool_calls: 1 }, "parallel_tool_calls", /true or false/],
    [
      {
        messages: [
          { role: "assistant", tool_calls: [{ function: { name: "a", arguments: "{" } }] },
        ],
      },
      "messages[0].tool_calls[0].function.arguments",
      /not valid JSON/,
    ],
    [
      { messages: [{ role: "assistant", tool_calls: [{ function: {} }] }] },
      "messages[0].tool_calls[0].function.name",
      /has a call that is not/,
    ],
    [{ messages: [{ role: "user" }] }, "messages[0].content", /needs a "role"/],
    [
      { tools: [{ type: "function", function: {} }] },
      "tools[0].function.name",
      /tools\[0\] is not/,
    ],
    [
      { tools: [{ type: "function", function: { name: "a", parameters: [] } }] },
      "tools[0].function.parameters",
      /tools\[0\] is not/,
    ],
    [
      { response_format: { type: "json_schema", json_schema: [] } },
      "response_format.json_schema",
      /must be an object/,
    ],
    [
      { stream: true, stream_options: { continuous_usage_stats: true } },
      "stream_options.continuous_usage_stats",
      /or send false\.$/,
    ],
    [{ reasoning_effort: 1 }, "reasoning_effort", /must be a string/],
    [
      { reasoning_effort: "low", chat_template_kwargs: { reasoning_effort: "low" } },
      "reasoning_effort",
      /not both/,
    ],
    [{ functions: [{}] }, "functions", /Send tools and tool_choice instead/],
    [{ function_call: "auto" }, "function_call", /Send tool_choice/],
    [{ audio: { voice: "a" } }, "audio", /answers are text/],
    [{ response_format: "json" }, "response_format", /must be an object/],
    [
      { response_format: { type: "xml" } },
      "response_format.type",
      /text, json_object, json_schema or regex/,
    ],
    [{ response_format: {} }, "response_format.type", /text, json_object, json_schema or regex/],
    [
      { response_format: { type: "json_schema" } },
      "response_format.json_schema",
      /has no JSON Schema/,
    ],
    [
      { response_format: { type: "json_schema", json_schema: { type: "object" } } },
      "response_format.json_schema.schema",
      /^response_format has no JSON Schema\. Send it as \{"type":"json_schema","json_schema":\{"name":"…","schema":/,
    ],
    [
      { response_format: { type: "json_object", schema: "{}" } },
      "response_format.schema",
      /no JSON Schema/,
    ],
    [{ response_format: { type: "regex" } }, "response_format.pattern", /regular expression/],
    [
      { tools, tool_choice: "required", response_format: { type: "json_object" } },
      "tool_choice",
      /^Send response_format or a tool_choice that requires a call, not both\.$/,
    ],
    [{ guided_json: "{" }, "guided_json", /^guided_json must be a JSON Schema, or its text\.$/],
    [{ guided_choice: [] }, "guided_choice", /a list of 1 to 1000 nonempty strings/],
    [{ guided_choice: ["a", 1] }, "guided_choice[1]", /a list of 1 to 1000 nonempty strings/],
    [{ guided_regex: 7 }, "guided_regex", /must be a regular expression/],
    [{ regex: "a", guided_json: {} }, "regex", /^Send guided_json or regex, not both\.$/],
    [{ structured_outputs: { json: 1 } }, "structured_outputs.json", /must be a JSON Schema/],
    [
      { structured_outputs: { regex: "a", choice: ["a"] } },
      "structured_outputs.regex",
      /^Send only one constraint in structured_outputs/,
    ],
    [{ structured_outputs: { grammar: "root" } }, "structured_outputs.grammar", /response_format/],
    [{ structured_outputs: [] }, "structured_outputs", /must be an object/],
    [{ format: "xml" }, "format", /must be a JSON Schema/],
    [
      { grammar: 'root ::= "a"' },
      "grammar",
      /^grammar is not supported\. Send response_format, with a JSON Schema or a regular expression\.$/,
    ],
    [{ ebnf: "root" }, "ebnf", /Send response_format/],
    [{ guided_grammar: "root" }, "guided_grammar", /Send response_format/],
    [
      { chat_template_kwargs: { documents: ["a"] } },
      "chat_template_kwargs.documents",
      /"documents" that are not a list of/,
    ],
    [{ chat_template_kwargs: [] }, "chat_template_kwargs", /must be an object, such as/],
    [
      { chat_template_kwargs: { add_generation_prompt: false } },
      "chat_template_kwargs.add_generation_prompt",
      /^chat_template_kwargs has "add_generation_prompt", which is not a chat template variable\.$/,
    ],
    [{ top_k: 40 }, "top_k", /^top_k is not supported\. Leave it out, or send -1\.$/],
    [{ min_p: 0.05 }, "min_p", /or send 0\.$/],
    [{ repetition_penalty: 1.1 }, "repetition_penalty", /or send 1\.$/],
    [{ repeat_penalty: 1.1 }, "repeat_penalty", /or send 1\.$/],
    [{ stop_token_ids: [2] }, "stop_token_ids", /Send their texts as stop/],
    [{ ignore_eos: true }, "ignore_eos", /or send false\.$/],
    [{ min_tokens: 5 }, "min_tokens", /or send 0\.$/],
    [{ skip_special_tokens: false }, "skip_special_tokens", /or send true\.$/],
    [{ chat_template: "{{ messages }}" }, "chat_template", /Leave it out\.$/],
    [{ max_new_tokens: 5 }, "max_new_tokens", /Send max_tokens/],
    [{ think: false }, "think", /Send chat_template_kwargs/],
    [{ enable_thinking: false }, "enable_thinking", /Send chat_template_kwargs/],
    [{ thinking: { type: "disabled" } }, "thinking", /Send chat_template_kwargs/],
    [{ nvext: { guided_json: {} } }, "nvext", /Send its fields at the top level/],
    [{ bad_words_ids: [[1]] }, "bad_words_ids", /Leave it out\.$/],
    [{ min_length: 5 }, "min_length", /or send 0\.$/],
    [{ lora: [{ id: 0, scale: 1 }] }, "lora", /Send the name of its model as model\.$/],
    [{ adapter_id: "a" }, "adapter_id", /Send the name of its model as model\.$/],
    [{ system: "Be short." }, "system", /Send it as a message with the role system\.$/],
    [{ template: "{{ .Prompt }}" }, "template", /Leave it out\.$/],
    [{ raw: true }, "raw", /\/v1\/completions, which continues it as it is\.$/],
    [{ guided_whitespace_pattern: " " }, "guided_whitespace_pattern", /Leave it out\.$/],
    [
      { structured_outputs: { json: {}, whitespace_pattern: " " } },
      "structured_outputs.whitespace_pattern",
      /Leave it out\.$/,
    ],
    [{ options: { top_k: 5 } }, "options", /at the top level/],
    [{ extra_body: { top_k: 5 } }, "extra_body", /^extra_body is not supported\. Send its fields/],
  ])("is refused with the field's name: %j", (more, param, message) => {
    const [found, sentence] = refusal(() => chat(more));
    expect(found).toBe(param);
    expect(sentence).toMatch(message);
  });

  it("reads its own fields alone, whatever they are named", () => {
    const body = JSON.parse('{"__proto__":{"model":"m","messages":[]},"constructor":1}') as object;
    expect(refusal(() => chatRequest({ ...body }))[0]).toBe("model");
    const own = JSON.parse('{"model":"__proto__","messages":[{"role":"user","content":"1"}]}');
    expect(chatRequest(own as Record<string, unknown>).model).toBe("__proto__");
  });
});

describe("a plain completion's request", () => {
  it("asks the model for what it says", () => {
    expect(plain({ logprobs: 3, echo: false, suffix: null, best_of: 1, max_tokens: 2 })).toEqual({
      ...{ model: "m", isStreamed: false, includesUsage: false, names: {} },
      requests: [{ prompt: "1", raw: true, logprobs: 3, maxTokens: 2 }],
    });
    expect(plain({ prompt: ["a", "b"] }).requests).toEqual([
      { prompt: "a", raw: true, maxTokens: 16 },
      { prompt: "b", raw: true, maxTokens: 16 },
    ]);
    const drawn = plain({ prompt: ["a", "a"], temperature: 1 }).requests;
    expect(drawn[0]?.seed).not.toBe(drawn[1]?.seed);
  });

  it.each([
    [{ echo: true }, "echo", /^echo is not supported\. Send false, and add the prompt/],
    [{ logprobs: 6 }, "logprobs", /from 0 to 5/],
    [{ logprobs: true }, "logprobs", /from 0 to 5/],
    [{ prompt: [] }, "prompt", /a list of 1 to 1000 strings/],
    [{ prompt: Array.from({ length: 1001 }, String) }, "prompt", /a list of 1 to 1000 strings/],
    [{ prompt: ["a", 2] }, "prompt[1]", /Send texts, not tokens\.$/],
    [{ prompt: [["a"]] }, "prompt[0]", /must be a string/],
    [{ prompt: undefined }, "prompt", /must be a string/],
    [{ tools }, "tools", /^tools is not supported\. Send it to \/v1\/chat\/completions\.$/],
  ])("is refused with the field's name: %j", (more, param, message) => {
    const [found, sentence] = refusal(() => plain(more));
    expect(found).toBe(param);
    expect(sentence).toMatch(message);
  });
});

describe("what the openai package sends", () => {
  const READ = [
    ...["messages", "model", "logprobs", "max_completion_tokens", "max_tokens", "prompt", "seed"],
    ...["parallel_tool_calls", "reasoning_effort", "response_format", "stop", "stream", "tools"],
    ...["stream_options", "temperature", "tool_choice", "top_logprobs", "top_p"],
  ];
  /** They are for OpenAI's books, its speed and its price, and change no answer. */
  const IGNORED = [
    ...["metadata", "prediction", "prompt_cache_key", "prompt_cache_options", "store", "user"],
    ...["prompt_cache_retention", "safety_identifier", "service_tier", "verbosity"],
  ];
  const REFUSED = {
    ...{ audio: { voice: "a" }, frequency_penalty: 1, function_call: "auto", functions: [{}] },
    ...{ logit_bias: { 7: 1 }, modalities: ["audio"], moderation: { model: "a" }, n: 2 },
    ...{ presence_penalty: 1, web_search_options: {} },
    ...{ best_of: 2, echo: true, suffix: "a" },
  };

  it("is read, ignored or refused, field by field", () => {
    const fieldsIn = (file: string, name: string) => {
      const source = readFileSync(`node_modules/openai/resources/${file}.d.ts`, "utf8");
      const [, body = ""] = source.split(`interface ${name} {`);
      const [fields = ""] = body.split("\n}");
      return [...fields.matchAll(/^    (\w+)\??:/gm)].map(([, field]) => field!);
    };
    const sent = new Set([
      ...fieldsIn("chat/completions/completions", "ChatCompletionCreateParamsBase"),
      ...fieldsIn("completions", "CompletionCreateParamsBase"),
    ]);
    expect([...sent].sort()).toEqual([...READ, ...IGNORED, ...Object.keys(REFUSED)].sort());
  });

  it.each(Object.entries(REFUSED))(
    "is refused where it would change the answer: %s",
    (name, value) => {
      for (const read of [chat, plain]) {
        const [param, sentence] = refusal(() => read({ [name]: value }));
        expect(param).toBe(name);
        expect(sentence).toContain(`${name} is not supported.`);
      }
    },
  );
});
