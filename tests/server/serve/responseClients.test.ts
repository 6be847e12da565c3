import { createOpenAI } from "@ai-sdk/openai";
import { Agent, OpenAIProvider, Runner, tool as agentTool } from "@openai/agents";
import { Output, generateText, stepCountIs, streamText, tool } from "ai";
import OpenAI, { BadRequestError } from "openai";
import { zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createScratch } from "../../engines/scratch.ts";
import { leaveInTheMidst, sayTo, startServe } from "../../serveCommand.ts";
import { saveToolModel } from "../../toolModel.ts";

const scratch = createScratch();
const Answer = z.object({ kind: z.enum(["even", "odd"]), sure: z.boolean() });
const Look = z.object({ at: z.enum(["here", "there"]) });
const seen = ({ at }: z.infer<typeof Look>) => `Nothing is ${at}.`;
const SHORT = 12;

/** Models whose words are random, but for those that a request asks for. */
let folder = "";
beforeAll(() => {
  folder = scratch.directory();
  saveToolModel(`${folder}/tools`);
  saveToolModel(`${folder}/talker`, { context: 8192 });
});
afterAll(() => scratch.remove());

describe("the openai package's responses", () => {
  const start = async (model = "tools") => {
    const serve = await startServe(folder, [model]);
    return { serve, client: new OpenAI({ baseURL: serve.baseURL, apiKey: "none" }) };
  };

  it("say what a chat completion says, whole and streamed", async () => {
    const { serve, client } = await start();
    const asked = { model: "tools", input: "1", max_output_tokens: SHORT };
    const { text } = await sayTo(serve, { model: "tools", max_tokens: SHORT });
    const whole = await client.responses.create(asked);
    expect(whole).toMatchObject({ output_text: text, status: "incomplete", model: "tools" });
    expect(whole.usage).toMatchObject({ output_tokens: SHORT });
    const stream = client.responses.stream({ ...asked, top_logprobs: 2 });
    let streamed = "";
    stream.on("response.output_text.delta", ({ delta, logprobs }) => {
      streamed += delta;
      expect(logprobs[0]?.top_logprobs).toHaveLength(2);
    });
    expect(await stream.finalResponse()).toMatchObject({ output_text: text, usage: whole.usage });
    expect(streamed).toBe(text);
  });

  it("parse, for a schema", async () => {
    const { client } = await start();
    const asked = { model: "tools", input: "7", text: { format: zodTextFormat(Answer, "answer") } };
    const { output_parsed, status } = await client.responses.parse(asked);
    expect([Answer.parse(output_parsed), status]).toEqual([output_parsed, "completed"]);
    const final = await client.responses.stream(asked).finalResponse();
    expect(final.output_parsed).toEqual(output_parsed);
  });

  it("call tools, whose output goes back with the whole conversation", async () => {
    const { client } = await start();
    const tools = [zodResponsesFunction({ name: "look", parameters: Look })];
    const asked = { model: "tools", instructions: "Look.", tools, parallel_tool_calls: false };
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "Look!" }];
    const required = { ...asked, input, tool_choice: "required" as const };
    const whole = await client.responses.parse(required);
    const final = await client.responses.stream(required).finalResponse();
    const [[call, ...others], [streamed]] = [whole.output, final.output];
    if (call?.type !== "function_call") throw new Error("It called no tool.");
    expect(others).toEqual([]);
    const at = Look.parse(call.parsed_arguments);
    expect(streamed).toMatchObject({ type: "function_call", name: "look", parsed_arguments: at });
    const output = {
      type: "function_call_output" as const,
      call_id: call.call_id,
      output: seen(at),
    };
    const next = [...input, ...whole.output, output] as OpenAI.Responses.ResponseInput;
    const said = await client.responses.create({ ...asked, input: next, max_output_tokens: SHORT });
    expect(said.usage!.input_tokens).toBeGreaterThan(whole.usage!.input_tokens);
    expect(said.output_text).not.toBe("");
  });

  it.each([30, 40])("show a call that max_output_tokens: %d cuts as incomplete", async (limit) => {
    const { client } = await start();
    const tools = [zodResponsesFunction({ name: "look", parameters: Look })];
    const asked = { model: "tools", input: "1", tools, tool_choice: "required" as const };
    const cut = { ...asked, max_output_tokens: limit };
    const whole = await client.responses.create(cut);
    const stream = client.responses.stream(cut);
    for (const { status, incomplete_details, output } of [whole, await stream.finalResponse()]) {
      expect([status, incomplete_details]).toEqual(["incomplete", { reason: "max_output_tokens" }]);
      expect(output).toMatchObject([{ type: "function_call", name: "look", status }]);
    }
    const [{ arguments: begun }] = whole.output as [OpenAI.Responses.ResponseFunctionToolCall];
    expect(() => JSON.parse(begun) as unknown).toThrow();
    const chat = await client.chat.completions.create({
      ...{ model: "tools", messages: [{ role: "user", content: "1" }], max_tokens: limit },
      tools: [{ type: "function", function: { name: "look", parameters: tools[0]!.parameters! } }],
      tool_choice: "required",
    });
    expect(chat.choices[0]).toMatchObject({
      ...{ finish_reason: "length", message: { tool_calls: [{ function: { arguments: begun } }] } },
    });
  });

  it("are refused by the package's own errors", async () => {
    const { client } = await start();
    for (const [more, param] of [
      [{ previous_response_id: "resp_1" }, "previous_response_id"],
      [{ input: "a ".repeat(2000) }, "input"],
    ] as const) {
      const refused = client.responses.create({ model: "tools", input: "1", ...more });
      const error = await refused.catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ param });
    }
    await expect(client.responses.retrieve("resp_1")).rejects.toThrow(
      "kit serve stores no responses",
    );
  });

  it("break off, and their place is free", async () => {
    const { serve, client } = await start("talker");
    await leaveInTheMidst(serve, async () => {
      const asked = { model: "talker", input: "Talk!", stream: true } as const;
      for await (const { type } of await client.responses.create(asked)) {
        if (type === "response.output_text.delta") break;
      }
    });
  });
});

describe("@openai/agents, which asks for responses", () => {
  it("runs an agent with a tool, and one with a type, whole and streamed", async () => {
    const { baseURL } = await startServe(folder, ["tools"]);
    const modelProvider = new OpenAIProvider({ baseURL, apiKey: "none" });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const places: string[] = [];
    const execute = (asked: z.infer<typeof Look>) => {
      places.push(asked.at);
      return seen(asked);
    };
    const look = agentTool({ name: "look", description: "Looks.", parameters: Look, execute });
    const agent = new Agent({
      ...{ name: "Looker", model: "tools", instructions: "Look.", tools: [look] },
      // The model's next answer may be of any length.
      modelSettings: { toolChoice: "required", parallelToolCalls: false },
      toolUseBehavior: "stop_on_first_tool",
    });
    const { finalOutput } = await runner.run(agent, "Look here!");
    const streamed = await runner.run(agent, "Look here!", { stream: true });
    await streamed.completed;
    expect([finalOutput, streamed.finalOutput]).toEqual(places.map((at) => `Nothing is ${at}.`));
    const typed = new Agent({ name: "Teller", model: "tools", outputType: Answer });
    const told = await runner.run(typed, "7");
    expect(Answer.parse(told.finalOutput)).toEqual(told.finalOutput);
    const again = [...told.history, { role: "user" as const, content: "8" }];
    expect(Answer.parse((await runner.run(typed, again)).finalOutput)).toBeDefined();
  });
});

describe("the AI SDK with @ai-sdk/openai, which asks for responses", () => {
  it("generates and streams text, an object, and calls in two steps", async () => {
    const { baseURL } = await startServe(folder, ["tools"]);
    const model = createOpenAI({ baseURL, apiKey: "none" })("tools");
    const asked = { model, prompt: "1", maxOutputTokens: SHORT };
    const { text, finishReason, usage } = await generateText(asked);
    expect([finishReason, usage.outputTokens]).toEqual(["length", SHORT]);
    const stream = streamText(asked);
    expect([await stream.text, await stream.finishReason]).toEqual([text, "length"]);
    const { output } = await generateText({
      ...asked,
      maxOutputTokens: 60,
      output: Output.object({ schema: Answer }),
    });
    expect(Answer.parse(output)).toEqual(output);

    const look = tool({ inputSchema: Look, execute: seen });
    const twoSteps = {
      ...{ model, prompt: "1", tools: { look }, stopWhen: stepCountIs(2), maxRetries: 0 },
      prepareStep: ({ stepNumber }: { stepNumber: number }) => ({
        toolChoice: stepNumber === 0 ? ("required" as const) : ("none" as const),
      }),
      providerOptions: { openai: { parallelToolCalls: false } },
    };
    const whole = await generateText(twoSteps);
    expect(whole.steps.map(({ toolResults }) => toolResults.length)).toEqual([1, 0]);
    const streamed = streamText(twoSteps);
    expect(await streamed.text).toBe(whole.text);
    expect((await streamed.steps).length).toBe(2);
  });

  it("goes on with a conversation if it stores nothing", async () => {
    const { baseURL } = await startServe(folder, ["tools"]);
    const model = createOpenAI({ baseURL, apiKey: "none" })("tools");
    const asked = { model, maxOutputTokens: SHORT, maxRetries: 0 };
    const { response } = await generateText({ ...asked, prompt: "1" });
    const messages = [...response.messages, { role: "user" as const, content: "2" }];
    await expect(generateText({ ...asked, messages })).rejects.toThrow("store: false");
    const providerOptions = { openai: { store: false } };
    expect((await generateText({ ...asked, messages, providerOptions })).text).not.toBe("");
  });
});
