import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createScratch } from "../../engines/scratch.ts";
import { startServe } from "../../serveCommand.ts";
import { saveToolModel } from "../../toolModel.ts";

const scratch = createScratch();
afterAll(() => scratch.remove());

/** Keys and numbers that `JSON.parse` and `JSON.stringify` would change. */
const SCHEMA = `{"type":"object","properties":{
  "id":{"const":2512292042121000001},"10":{"enum":[1.0]},"2":{"type":"integer","minimum":9223372036854775807,"maximum":9223372036854775807},
  "1":{"const":{"b":1e22,"0":-0.0}}},"required":["id","10","2","1"]}`;
const ANSWER =
  '{"id":2512292042121000001,"10":1.0,"2":9223372036854775807,"1":{"b":1e+22,"0":-0.0}}';

/** Says what it was given. */
const TELLING = `{{ raise_exception((messages[1].tool_calls[0].function.arguments | tojson) ~ " " ~ (tools | tojson)) }}{# tool_calls #}`;
const QUESTION = '[{"role":"user","content":"?"}]';

/** A model whose words are random, but for those that a request asks for. */
async function startTools(template?: string) {
  const folder = scratch.directory();
  saveToolModel(join(folder, "tools"), { template });
  const { baseURL } = await startServe(folder, ["tools"]);
  /** @param more fields of the body, as JSON */
  return async (more: string, messages = QUESTION) => {
    const response = await fetch(`${baseURL}/chat/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: `{"model":"tools","messages":${messages},${more}}`,
    });
    return response.text();
  };
}

test("kit serve holds answers to a schema's numbers and order of keys, to the last digit", async () => {
  const ask = await startTools();
  const format = `"response_format":{"type":"json_schema","json_schema":{"schema":${SCHEMA}}}`;
  // As Python's clients write neutral values.
  const neutral = '"temperature":0.0,"n":1.0,"presence_penalty":0.0,"max_tokens":400.0';
  expect(JSON.parse(await ask(`${format},${neutral}`))).toMatchObject({
    choices: [{ message: { content: ANSWER }, finish_reason: "stop" }],
  });
});

const TOOLS = `"tools":[{"type":"function","function":{"name":"look","parameters":${SCHEMA}}}]`;

test("calls of tools have the arguments as they were written, whole and streamed", async () => {
  const ask = await startTools();
  const required = `${TOOLS},"tool_choice":"required"`;
  const written = JSON.stringify(ANSWER);
  expect(await ask(required)).toContain(`"function":{"name":"look","arguments":${written}}`);
  expect(await ask(`${required},"stream":true`)).toContain(`"arguments":${written}`);
});

test("the chat template gets tools, and the arguments of calls, without a loss", async () => {
  const said = '{"id": 2512292042121000001, "10": 1.0, "2": {"b": 1e+22, "0": -0.0}}';
  const ask = await startTools(TELLING);
  for (const given of [said, JSON.stringify(said)]) {
    const call = `{"type":"function","function":{"name":"look","arguments":${given}}}`;
    const messages = `[{"role":"user","content":"?"},{"role":"assistant","content":null,"tool_calls":[${call}]}]`;
    const { error } = JSON.parse(await ask(TOOLS, messages)) as { error: { message: string } };
    expect(error.message).toContain(`refuses a conversation: ${said} [{"type": "function", "f`);
    expect(error.message).toContain('"id": {"const": 2512292042121000001}, "10": {"enum": [1.0]}');
    expect(error.message).toContain('"maximum": 9223372036854775807');
    expect(error.message).toContain('{"const": {"b": 1e+22, "0": -0.0}}');
  }
});
