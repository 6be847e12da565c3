import type { Prompt } from "./answers.ts";

/** Streams an answer from `kit serve`. @param url the server's, with `/v1` */
export async function* askServe(
  url: string,
  { request }: Prompt,
  maxTokens: number,
): AsyncGenerator<string> {
  const { messages, prompt } = request;
  const input = messages ? { messages } : { prompt };
  const path = messages ? "chat/completions" : "completions";
  const body = { ...input, model: MODEL, max_tokens: maxTokens, stream: true };
  const response = await fetch(`${url}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok || !response.body) throw new Error(await response.text());
  let rest = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const frames = (rest + chunk).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const data = frame.replace(/^data: /, "");
      if (data === "[DONE]") return;
      const { choices } = JSON.parse(data) as Frame;
      yield choices[0]?.delta?.content ?? choices[0]?.text ?? "";
    }
  }
  throw new Error("The answer was cut off.");
}

/** The name of the served folder. */
export const MODEL = "model";

interface Frame {
  choices: { delta?: { content?: string }; text?: string }[];
}
