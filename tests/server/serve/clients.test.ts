import { cpSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, generateText, streamText, tool } from "ai";
import OpenAI, {
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
} from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { jsonl } from "../../engines/embedded/scratch.ts";
import { createTinyProject, runKit, startKit, tinySource } from "../../kit.ts";
import { type ServeCommand, leaveInTheMidst, startServe } from "../../serveCommand.ts";
import { saveToolModel } from "../../toolModel.ts";

const ROWS = Array.from({ length: 12 }, (_, n) => ({
  prompt: `${n}`,
  completion: n % 2 === 0 ? "even" : "odd",
}));
const OPTIONS = `
  model: { layers: 1, heads: 2, width: 32, context: 128 },
  maxSteps: 60, batchSize: 12, learningRate: 0.02, warmupSteps: 0,
`;
/** Tells the model not to think, and leaves out what the system says. */
const THINKING = `{% for m in messages %}{% if m.role != "system" %}<|im_start|>{{ m.content }}<|im_end|>{% endif %}{% endfor %}{% if enable_thinking is defined and not enable_thinking %}<|im_start|>do not think<|im_end|>{% endif %}`;
const ask = (content: string) => [{ role: "user" as const, content }];
const Answer = z.object({ kind: z.enum(["even", "odd"]), sure: z.boolean() });

/** A project whose job has learned its rows by heart, and a model whose chat template takes tools. Made once. */
let project = "";
beforeEach(async () => {
  if (project) return;
  const files = { "data.jsonl": jsonl(ROWS) };
  const made = createTinyProject(tinySource({ name: "numbers", options: OPTIONS }), files);
  saveToolModel(join(made, "tools"));
  saveToolModel(join(made, "talker"), { context: 8192 });
  saveToolModel(join(made, "thinker"), { template: THINKING });
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "kit-clients-")));
  cpSync(made, folder, { recursive: true });
  expect(await runKit(folder, ["start"])).toMatchObject({ code: 0 });
  project = folder;
});
afterAll(() => rmSync(project, { recursive: true, force: true, maxRetries: 5 }));

const openai = ({ baseURL }: ServeCommand, more: object = {}) =>
  new OpenAI({ baseURL, apiKey: "none", ...more });

describe("the openai package, with nothing changed but baseURL", () => {
  it("asks, lists models, and reads a stream with its usage", async () => {
    const client = openai(await startServe(project));
    for (const { prompt, completion } of ROWS.slice(0, 4)) {
      const answer = await client.chat.completions.create({
        ...{ model: "numbers", messages: ask(prompt) },
      });
      expect(answer.choices[0]?.message.content).toBe(completion);
      expect(answer._request_id).toMatch(/^req_/);
    }
    const models = await client.models.list();
    expect(models.data.map(({ id }) => id)).toContain("latest");
    expect(await client.models.retrieve("numbers")).toMatchObject({ id: "numbers" });
    const stream = await client.chat.completions.create({
      ...{ model: "latest", messages: ask("7"), stream: true },
      ...{ stream_options: { include_usage: true }, logprobs: true, top_logprobs: 2 },
    });
    let text = "";
    let tokens = 0;
    let probability = 0;
    for await (const { choices, usage } of stream) {
      text += choices[0]?.delta.content ?? "";
      tokens = usage?.completion_tokens ?? tokens;
      const [first] = choices[0]?.logprobs?.content ?? [];
      if (first) probability ||= Math.exp(first.logprob);
    }
    expect([text, tokens > 0]).toEqual(["odd", true]);
    expect(probability).toBeGreaterThan(0.5);
    // Without a chat template, these are no questions.
    const plain = await client.completions.create({ model: "latest", prompt: ["8", "7"] });
    expect(plain.choices.map(({ index }) => index)).toEqual([0, 1]);
  });

  it("gets an answer that parses, for a schema, whole and streamed", async () => {
    const client = openai(await startServe(project));
    const asked = {
      ...{ model: "latest", messages: ask("7") },
      response_format: zodResponseFormat(Answer, "answer"),
    };
    const { choices } = await client.chat.completions.parse({ ...asked });
    expect(Answer.parse(choices[0]?.message.parsed)).toBeDefined();
    const stream = client.chat.completions.stream(asked);
    const final = await stream.finalChatCompletion();
    expect(Answer.parse(final.choices[0]?.message.parsed)).toBeDefined();
  });

  it("gets calls of the tool that it requires, whole and streamed", async () => {
    const client = openai(await startServe(project, ["tools"]));
    const Look = z.object({ at: z.enum(["here", "there"]) });
    const asked = {
      ...{ model: "tools", messages: ask("Look!") },
      tools: [zodFunction({ name: "look", parameters: Look })],
      tool_choice: { type: "function", function: { name: "look" } } as const,
    };
    const { choices } = await client.chat.completions.parse(asked);
    const [call] = choices[0]?.message.tool_calls ?? [];
    expect(call?.function.name).toBe("look");
    expect(Look.parse(call?.function.parsed_arguments)).toBeDefined();
    const final = await client.chat.completions.stream(asked).finalChatCompletion();
    const [streamed] = final.choices[0]?.message.tool_calls ?? [];
    expect(streamed).toMatchObject({ function: { name: "look" } });
  });

  it("understands what other servers take in the body", async () => {
    const client = openai(await startServe(project, ["thinker"]));
    const create = (more: object) =>
      client.chat.completions.create({
        ...{ model: "thinker", messages: ask("7"), max_tokens: 60, ...more },
      });
    const contentOf = async (more: object) => (await create(more)).choices[0]?.message.content;
    expect(await contentOf({ guided_choice: ["yes", "no"] })).toMatch(/^(?:yes|no)$/);
    expect(await contentOf({ structured_outputs: { regex: "[ab]{3}" } })).toMatch(/^[ab]{3}$/);
    const schema = { type: "object", properties: { a: { const: 1 } }, required: ["a"] };
    for (const more of [{ guided_json: schema }, { format: schema }, { json_schema: schema }]) {
      expect(await contentOf(more)).toBe('{"a":1}');
    }
    const tokensOf = async (more: object) => (await create(more)).usage?.prompt_tokens ?? 0;
    const plain = await tokensOf({});
    const kwargs = (enable_thinking: boolean) => ({ chat_template_kwargs: { enable_thinking } });
    expect(await tokensOf(kwargs(true))).toBe(plain);
    expect(await tokensOf(kwargs(false))).toBeGreaterThan(plain);
    expect(await tokensOf({ reasoning_effort: "none" })).toBeGreaterThan(plain);
    // This template has no effort, as vLLM's and llama.cpp's clients find it, too.
    expect(await tokensOf({ reasoning_effort: "low", verbosity: "low" })).toBe(plain);
    for (const [more, param] of [
      [{ top_k: 40 }, "top_k"],
      [{ guided_regex: "(?=a)" }, "guided_regex"],
      [{ structured_outputs: { json: { not: {} } } }, "structured_outputs.json"],
      [{ chat_template_kwargs: { mood: "calm" } }, "chat_template_kwargs.mood"],
      [{ messages: [{ role: "system", content: "Be short." }, ...ask("7")] }, "messages[0]"],
    ] as const) {
      const error = await create(more).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ param });
    }
  });

  it("throws the package's own errors, with the field that is wrong", async () => {
    const serve = await startServe(project, [], { KIT_SERVE_KEY: "a-key-of-sixteen-letters" });
    const client = openai(serve, { apiKey: "a-key-of-sixteen-letters" });
    const create = (more: object, by = client) =>
      by.chat.completions.create({ model: "latest", messages: ask("1"), ...more });
    const none = await create({ model: "gpt-5" }).catch((error: unknown) => error);
    expect(none).toBeInstanceOf(NotFoundError);
    expect(none).toMatchObject({ code: "model_not_found", param: "model", status: 404 });
    const two = await create({ n: 2 }).catch((error: unknown) => error);
    expect(two).toBeInstanceOf(BadRequestError);
    expect(two).toMatchObject({ param: "n", message: expect.stringContaining("n is not") });
    const long = await create({ messages: ask("1".repeat(199)) }).catch((error: unknown) => error);
    expect(long).toMatchObject({ code: "context_length_exceeded", status: 400, param: "messages" });
    expect(String(long)).toContain("this model's maximum context length is 128 tokens");
    const stranger = openai(serve, { apiKey: "another" });
    await expect(create({}, stranger)).rejects.toBeInstanceOf(AuthenticationError);
    expect((await create({})).choices).toHaveLength(1);
    for (const more of [{}, { stream: true }, { guided_choice: ["a", "b"] }]) {
      const body = { model: "latest", prompt: ["1", "1".repeat(199)], ...more };
      const late = await client.completions.create(body).catch((error: unknown) => error);
      expect(late).toMatchObject({ code: "context_length_exceeded", param: "prompt[1]" });
      expect(String(late)).toContain("prompt[1]: The prompt is too long");
    }
  });

  it("tries again while the model is loaded", async () => {
    const { printed } = startKit(project, ["serve", "--port", "0"]);
    const [, port] = /:(\d+)\/v1/.exec(await printed(/\/v1/)) ?? [];
    const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "none" });
    const { choices } = await client.chat.completions.create(
      { model: "latest", messages: ask("7") },
      { maxRetries: 20 },
    );
    expect(choices[0]?.message.content).toBe("odd");
  });

  it("breaks off a stream, whose place is then free", async () => {
    const serve = await startServe(project, ["talker"]);
    const client = openai(serve);
    await leaveInTheMidst(serve, async () => {
      const stream = await client.chat.completions.create({
        ...{ model: "talker", messages: ask("Talk!"), stream: true },
      });
      for await (const { choices } of stream) if (choices[0]?.delta.content) break;
    });
    const signal = AbortSignal.abort();
    const aborted = client.chat.completions.create(
      { model: "talker", messages: ask("Talk!") },
      { signal },
    );
    await expect(aborted).rejects.toBeInstanceOf(APIUserAbortError);
  });
});

describe("the AI SDK with @ai-sdk/openai-compatible", () => {
  const modelOf = ({ baseURL }: ServeCommand, id: string) =>
    createOpenAICompatible({ name: "kit", baseURL, supportsStructuredOutputs: true })(id);

  it("generates and streams text", async () => {
    const model = modelOf(await startServe(project), "numbers");
    const { text, usage, finishReason } = await generateText({ model, prompt: "7" });
    expect([text, finishReason]).toEqual(["odd", "stop"]);
    expect(usage.outputTokens).toBeGreaterThan(0);
    const stream = streamText({ model, messages: ask("8") });
    let streamed = "";
    for await (const part of stream.textStream) streamed += part;
    expect([streamed, await stream.finishReason]).toEqual(["even", "stop"]);
  });

  it("gets an object of a zod schema", async () => {
    const model = modelOf(await startServe(project), "latest");
    const { output } = await generateText({
      ...{ model, prompt: "7", output: Output.object({ schema: Answer }) },
    });
    expect(Answer.parse(output)).toEqual(output);
  });

  it("calls a tool that it requires", async () => {
    const model = modelOf(await startServe(project, ["tools"]), "tools");
    const look = tool({ inputSchema: z.object({ at: z.enum(["here", "there"]) }) });
    const asked = { model, prompt: "Look!", tools: { look }, toolChoice: "required" } as const;
    const { toolCalls } = await generateText(asked);
    expect(toolCalls[0]?.toolName).toBe("look");
    const stream = streamText(asked);
    expect((await stream.toolCalls)[0]?.toolName).toBe("look");
  });

  it("tells what was wrong with a request", async () => {
    const model = modelOf(await startServe(project), "gpt-5");
    await expect(generateText({ model, prompt: "7", maxRetries: 0 })).rejects.toThrow(
      'The model "gpt-5" does not exist.',
    );
  });
});
