import { expect, test } from "vitest";
import { KitError } from "../../../protocol/error.ts";
import type { InferRequest } from "../../../protocol/infer.ts";
import type { InferResult } from "../../../protocol/infer.ts";
import { createModelPool } from "../../../server/serve/modelPool.ts";
import { readBody } from "../../uiServer.ts";
import { apiErrorOf, chat, eventsIn, sayBack, serve, standIn } from "./serveServer.ts";

const RESULT: InferResult = { text: "ab", finishReason: "stop", promptTokens: 3, tokens: 2 };
const a = { token: "a", bytes: [97], logprob: -0.5 };
const b = { token: "b", bytes: [98], logprob: -Infinity };
const LOGPROBS = [
  { ...a, top: [a, b] },
  { ...b, top: [] },
];
const CALL = { type: "function", function: { name: "look", arguments: { at: "7" } } } as const;

const told = (result: InferResult) =>
  standIn((_, onDelta) => {
    for (const [at, text] of [...result.text].entries()) {
      const logprobs = result.logprobs?.slice(at, at + 1);
      onDelta?.({ text, ...(logprobs && { logprobs }) });
    }
    if (result.toolCalls) onDelta?.({ text: "", toolCalls: result.toolCalls });
    return Promise.resolve(result);
  });

test("a chat completion has OpenAI's form, and names the model that answered", async () => {
  const { post } = await serve(told(RESULT));
  const response = await post("chat/completions", chat("1"));
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(response.headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
  expect(await response.json()).toEqual({
    id: expect.stringMatching(/^chatcmpl-[0-9a-f]{32}$/),
    ...{ object: "chat.completion", created: expect.any(Number), model: "job-1" },
    choices: [
      {
        ...{ index: 0, logprobs: null, finish_reason: "stop" },
        message: { role: "assistant", content: "ab", refusal: null },
      },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  });
});

test("its log probabilities are finite, with the likeliest of each place", async () => {
  const { post } = await serve(told({ ...RESULT, logprobs: LOGPROBS }));
  const response = await post("chat/completions", chat("1", { logprobs: true }));
  const { choices } = (await response.json()) as { choices: { logprobs: unknown }[] };
  const last = { ...b, logprob: -9999 };
  expect(choices[0]?.logprobs).toEqual({
    content: [
      { ...a, top_logprobs: [a, last] },
      { ...last, top_logprobs: [] },
    ],
    refusal: null,
  });
});

test("calls of tools have ids and JSON as arguments", async () => {
  const result: InferResult = { ...RESULT, text: "", toolCalls: [CALL, CALL] };
  const { post } = await serve(told({ ...result, finishReason: "toolCalls" }));
  const call = {
    ...{ id: expect.stringMatching(/^call_[0-9a-f]{24}$/), type: "function" },
    function: { name: "look", arguments: '{"at":"7"}' },
  };
  const calls = [call, call];
  const whole = await post("chat/completions", chat("1"));
  expect(await whole.json()).toMatchObject({
    choices: [{ finish_reason: "tool_calls", message: { content: null, tool_calls: calls } }],
  });
  const streamed = await post("chat/completions", chat("1", { stream: true }));
  const events = eventsIn(await streamed.text()) as { choices: { delta: object }[] }[];
  expect(events[1]?.choices[0]?.delta).toEqual({
    tool_calls: calls.map((each, index) => ({ index, ...each })),
  });
  expect(events[2]).toMatchObject({ choices: [{ delta: {}, finish_reason: "tool_calls" }] });
});

test("a stream is chunks of one id: the role, each piece, the reason of its end, and [DONE]", async () => {
  const { post } = await serve(told(RESULT));
  const response = await post("chat/completions", chat("1", { stream: true }));
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("cache-control")).toBe("no-cache");
  const events = eventsIn(await response.text());
  expect(events.pop()).toBe("[DONE]");
  const { id } = events[0] as { id: string };
  const chunk = (delta: object, finish: string | null = null) => ({
    ...{ id, object: "chat.completion.chunk", created: expect.any(Number), model: "job-1" },
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  });
  expect(events).toEqual([
    chunk({ role: "assistant", content: "" }),
    ...[chunk({ content: "a" }), chunk({ content: "b" })],
    chunk({}, "stop"),
  ]);
});

test("a stream's usage comes in a last chunk without choices, if it was asked for", async () => {
  const { post } = await serve(told(RESULT));
  const asked = { "chat/completions": chat("1"), completions: { model: "latest", prompt: "1" } };
  for (const [path, body] of Object.entries(asked)) {
    const options = { stream: true, stream_options: { include_usage: true } };
    const response = await post(path, { ...body, ...options });
    const events = eventsIn(await response.text()) as { usage?: object; choices: object[] }[];
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    expect(events.at(-2)).toMatchObject({ choices: [], usage });
    for (const event of events.slice(0, -2)) expect(event.usage).toBe(null);
  }
});

test("a piece is sent when it comes, also with its log probabilities", async () => {
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  const { post } = await serve(
    standIn(async (_, onDelta) => {
      onDelta?.({ text: "a", logprobs: LOGPROBS.slice(0, 1) });
      await gate;
      onDelta?.({ text: "b", logprobs: LOGPROBS.slice(1) });
      return { ...RESULT, logprobs: LOGPROBS };
    }),
  );
  const response = await post("chat/completions", chat("1", { stream: true, logprobs: true }));
  const body = readBody(response);
  const first = eventsIn(await body.until((text) => text.includes('"content":"a"')));
  expect(first.at(-1)).toMatchObject({
    choices: [{ logprobs: { content: [{ token: "a", top_logprobs: [a, {}] }] } }],
  });
  goOn();
  expect(String(await body.all())).toContain('"content":"b"');
});

test("an engine that tells no pieces answers a stream in one", async () => {
  const { post } = await serve(standIn(() => Promise.resolve(RESULT)));
  const response = await post("chat/completions", chat("1", { stream: true }));
  expect(eventsIn(await response.text())[1]).toMatchObject({
    choices: [{ delta: { content: "ab" } }],
  });
});

test("a plain completion has OpenAI's form, whole and streamed, with its log probabilities", async () => {
  const { post } = await serve(told({ ...RESULT, finishReason: "length", logprobs: LOGPROBS }));
  const asked = { model: "dates", prompt: "1", logprobs: 1 };
  const whole = await post("completions", asked);
  const logprobs = {
    ...{ tokens: ["a", "b"], token_logprobs: [-0.5, -9999] },
    ...{ top_logprobs: [{ a: -0.5, b: -9999 }, {}], text_offset: [0, 1] },
  };
  expect(await whole.json()).toEqual({
    id: expect.stringMatching(/^cmpl-[0-9a-f]{32}$/),
    ...{ object: "text_completion", created: expect.any(Number), model: "job-1" },
    choices: [{ index: 0, text: "ab", logprobs, finish_reason: "length" }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  });
  const streamed = await post("completions", { ...asked, stream: true });
  const events = eventsIn(await streamed.text()) as { choices: object[] }[];
  expect(events.flatMap(({ choices = [] }) => choices)).toMatchObject([
    { text: "a", logprobs: { text_offset: [0] } },
    { text: "b", logprobs: { text_offset: [1] } },
    { text: "", finish_reason: "length" },
  ]);
});

test("each prompt of a plain completion has a choice, in their order, whole and streamed", async () => {
  const model = sayBack();
  const { post, records } = await serve(model);
  const asked = { model: "dates", prompt: ["a b", "", "c"] };
  const whole = await post("completions", asked);
  const usage = { prompt_tokens: 21, completion_tokens: 3, total_tokens: 24 };
  const common = { logprobs: null, finish_reason: "stop" };
  expect(await whole.json()).toMatchObject({
    choices: ["a b", "", "c"].map((text, index) => ({ index, text, ...common })),
    usage,
  });
  expect(model.asked).toMatchObject(asked.prompt.map((prompt) => ({ prompt, raw: true })));
  const options = { stream: true, stream_options: { include_usage: true } };
  const streamed = await post("completions", { ...asked, ...options });
  const events = eventsIn(await streamed.text()) as { choices: Choice[]; usage: object }[];
  type Choice = { index: number; text: string; finish_reason: string | null };
  const said = events.flatMap(({ choices = [] }) => choices);
  expect(said.map(({ index, text, finish_reason: end }) => [index, text, end])).toEqual([
    [0, "a ", null],
    [0, "b", null],
    [0, "", "stop"],
    [1, "", "stop"],
    [2, "c", null],
    [2, "", "stop"],
  ]);
  expect(events.at(-2)).toMatchObject({ choices: [], usage });
  expect(events.at(-1)).toBe("[DONE]");
  expect(records).toMatchObject([
    { promptTokens: 21, tokens: 3 },
    { promptTokens: 21, tokens: 3 },
  ]);
});

test("the models are listed by each of their names, and found by it", async () => {
  const { url } = await serve();
  const list = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
  expect(list).toMatchObject({ object: "list" });
  expect(list.data.map(({ id }) => id)).toEqual(["job-1", "dates", "latest", "org/name"]);
  const one = await fetch(`${url}/v1/models/dates`);
  expect(await one.json()).toEqual({
    ...{ id: "dates", object: "model", created: 1_700_000_000, owned_by: "kit" },
  });
  for (const name of ["org/none", "org%2Fnone"]) {
    const none = await fetch(`${url}/v1/models/${name}`);
    expect([none.status, (await apiErrorOf(none)).code]).toEqual([404, "model_not_found"]);
  }
  for (const name of ["org/name", "org%2Fname", "org%2fname"]) {
    expect(await (await fetch(`${url}/v1/models/${name}`)).json()).toMatchObject({
      id: "org/name",
    });
  }
  expect((await fetch(`${url}/v1/models/..%2Fname`)).status).toBe(400);
});

test.each(["chat/completions", "completions", "responses"])(
  "a stream of /v1/%s has headers before its first token, but only for a valid request",
  async (path) => {
    let seeHeaders = () => {};
    const headers = new Promise<void>((resolve) => (seeHeaders = resolve));
    const { model } = standIn(async () => {
      await headers;
      return { text: "a", finishReason: "stop", promptTokens: 1, tokens: 1 };
    });
    const fault = { option: "messages" };
    const check = ({ maxTokens }: InferRequest) =>
      maxTokens === 7
        ? Promise.reject(new KitError("REQUEST_INVALID", "It is wrong.", { fault }))
        : Promise.resolve();
    const { post } = await serve({ ...sayBack(), model: { ...model, check } });
    const messages = [{ role: "user", content: "1" }];
    const body = path === "chat/completions" ? { messages } : { prompt: "1" };
    const asked = {
      model: "latest",
      stream: true,
      ...(path === "responses" ? { input: "1" } : body),
    };
    const limit = path === "responses" ? "max_output_tokens" : "max_tokens";
    expect((await post(path, { ...asked, [limit]: 7 })).status).toBe(400);
    const response = await post(path, asked);
    seeHeaders();
    expect(await response.text()).toMatch(/"a"/);
  },
);

test.each([
  [
    { option: "messages", isTooLong: true },
    { param: "messages", code: "context_length_exceeded" },
  ],
  [{ option: "schema" }, { param: "structured_outputs.json" }],
  [{ option: "toolChoice" }, { param: "tool_choice" }],
  [{ option: "tools[1].function.parameters" }, { param: "tools[1].function.parameters" }],
  [{ option: "chatTemplateKwargs.mood" }, { param: "chat_template_kwargs.mood" }],
  [undefined, { param: null }],
] as const)(
  "what the model refuses of a request is the caller's error, with the field's own name: %j",
  async (fault, details) => {
    const message = "The schema, the tools and the conversation are wrong.";
    const { post, errors } = await serve(
      standIn(() => Promise.reject(new KitError("REQUEST_INVALID", message, { fault }))),
    );
    for (const stream of [false, true]) {
      const more = { stream, structured_outputs: { json: {} } };
      const response = await post("chat/completions", chat("1", more));
      expect(response.status).toBe(400);
      expect(await apiErrorOf(response)).toEqual({
        ...{ type: "invalid_request_error", code: null, ...details },
        message,
      });
    }
    expect(errors).toEqual([]);
  },
);

test("an error about one of the allowed tools has the place that it has in the request", async () => {
  const message = 'tools[0]: The "parameters" are wrong.';
  const fault = { option: "tools[0].function.parameters" };
  const model = standIn(() => Promise.reject(new KitError("REQUEST_INVALID", message, { fault })));
  const { post } = await serve(model);
  const tools = ["a", "b"].map((name) => ({ type: "function", function: { name } }));
  const tool_choice = { type: "allowed_tools", mode: "auto", tools: tools.slice(1) };
  const response = await post("chat/completions", chat("1", { tools, tool_choice }));
  expect(await apiErrorOf(response)).toMatchObject({
    ...{ message: message.replace("0", "1"), param: "tools[1].function.parameters" },
  });
});

test("no prompt of a list is answered where one cannot be, which the error names", async () => {
  const message = "Write a prompt.";
  const model = sayBack();
  const check = ({ prompt }: InferRequest) => {
    const fault = { option: "prompt" };
    const isWrong = prompt === "";
    return isWrong
      ? Promise.reject(new KitError("REQUEST_INVALID", message, { fault }))
      : Promise.resolve();
  };
  const { post } = await serve({ ...model, model: { ...model.model, check } });
  for (const stream of [false, true]) {
    const response = await post("completions", { model: "dates", prompt: ["a", ""], stream });
    expect(response.status).toBe(400);
    expect(await apiErrorOf(response)).toMatchObject({
      ...{ param: "prompt[1]", message: `prompt[1]: ${message}` },
    });
  }
  expect(model.asked).toEqual([]);
});

test("any other error is told to the log, not to the caller, who learns no path", async () => {
  const error = new KitError("CHECKPOINT_INVALID", "There is no /home/me/model.safetensors.");
  const { post, errors, records } = await serve(standIn(() => Promise.reject(error)));
  const response = await post("chat/completions", chat("1"));
  expect(response.status).toBe(500);
  const { message, type } = await apiErrorOf(response);
  expect(type).toBe("server_error");
  expect(message).not.toContain("/home");
  expect(errors).toEqual([error]);
  expect(records).toMatchObject([{ status: 500, model: "job-1" }]);
});

test("an error after the first piece ends the stream with an event that says so, and no [DONE]", async () => {
  const { post } = await serve(
    standIn((_, onDelta) => {
      onDelta?.({ text: "a" });
      return Promise.reject(new Error("/home/me"));
    }),
  );
  const response = await post("chat/completions", chat("1", { stream: true }));
  const events = eventsIn(await response.text());
  expect(events.at(-1)).toMatchObject({ error: { type: "server_error" } });
  expect(JSON.stringify(events)).not.toContain("/home");
});

test("a request has a line in the log, which says nothing of what was asked or answered", async () => {
  const { post, records } = await serve();
  await (await post("chat/completions", chat("secret words"))).text();
  await (await post("chat/completions", chat("secret", { n: 2 }))).text();
  await (await post("completions", { model: "secret", prompt: "secret" })).text();
  expect(records).toEqual([
    {
      ...{ request: expect.stringMatching(/^req_/), time: expect.any(String), status: 200 },
      ...{ path: "/v1/chat/completions", model: "job-1", promptTokens: 7, tokens: 2 },
      ...{ firstMs: expect.any(Number), tokensPerSecond: expect.any(Number) },
    },
    expect.objectContaining({ status: 400 }),
    expect.objectContaining({ status: 404, code: "model_not_found", path: "/v1/completions" }),
  ]);
  expect(JSON.stringify(records)).not.toContain("secret");
});

test.each(["WORKER_FAILED", "OUT_OF_MEMORY"] as const)(
  "a model whose engine has ended (%s) is opened anew for the next request",
  async (code) => {
    const models = createModelPool();
    const ended = standIn(() => Promise.reject(new KitError(code, "It has ended.")));
    const opened = [sayBack().model, ended.model];
    const open = () => Promise.resolve(opened.pop()!);
    await models.add({ id: "job-1", created: 0, maxConcurrent: 1, open }, ["latest"]);
    const { post } = await serve(undefined, { models });
    expect((await post("chat/completions", chat("1"))).status).toBe(500);
    expect((await post("chat/completions", chat("1"))).status).toBe(200);
  },
);
