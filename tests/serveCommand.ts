import { request } from "node:http";
import { type Command, startKit } from "./kit.ts";

/** A real `kit serve` on a free port, killed with the test. */
export interface ServeCommand extends Command {
  port: number;
  /** Without a slash at its end. */
  url: string;
  /** As OpenAI's clients take it. */
  baseURL: string;
  /** Sends JSON; `path` is under `/v1/`. */
  post: (path: string, body: object, headers?: Record<string, string>) => Promise<Response>;
}

/** Resolves when it is ready to answer. */
export async function startServe(
  project: string,
  args: string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<ServeCommand> {
  const command = startKit(project, ["serve", "--port", "0", ...args], env);
  const text = await command.printed(/ready/);
  const [, port = ""] = /http:\/\/[^/]*:(\d+)\/v1/.exec(text) ?? [];
  const url = `http://127.0.0.1:${port}`;
  return {
    ...{ ...command, port: Number(port), url, baseURL: `${url}/v1` },
    post: (path, body, headers = {}) =>
      fetch(`${url}/v1/${path}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
  };
}

/**
 * Leaves answers in their midst, until the log has one that was left: a stalled machine may finish an
 * answer before.
 */
export async function leaveInTheMidst(
  { printed }: Pick<ServeCommand, "printed">,
  leave: () => Promise<void>,
): Promise<void> {
  for (let log = await printed(/^/); !/ 499 /.test(log);) {
    const answers = log.match(/^[\d:]{8} {2}/gm)?.length ?? 0;
    await leave();
    log = await printed(new RegExp(`(^[\\d:]{8} {2}[^]*){${answers + 1}}`, "m"));
  }
}

/** The names that it lists. */
export async function namesOf({ url }: ServeCommand): Promise<string[]> {
  const list = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
  return list.data.map(({ id }) => id);
}

/** The text and the model of a chat completion. */
export async function sayTo({ post }: Pick<ServeCommand, "post">, body: object) {
  const messages = [{ role: "user", content: "1" }];
  const response = await post("chat/completions", { model: "latest", messages, ...body });
  const { model, choices } = (await response.json()) as {
    model: string;
    choices: { message: { content: string } }[];
  };
  return { status: response.status, model, text: choices?.[0]?.message.content };
}

/** Asks for a stream, and resolves with its connection's bytes so far, once they match. */
export function streamFrom(port: number, body: object, isEnough: RegExp) {
  let text = "";
  const asked = request({
    ...{ host: "127.0.0.1", port, path: "/v1/chat/completions", method: "POST" },
    headers: { "Content-Type": "application/json" },
  });
  const began = new Promise<void>((resolve, reject) => {
    asked.on("error", reject);
    asked.on("response", (answer) => {
      answer.setEncoding("utf8");
      answer.on("data", (part: string) => {
        text += part;
        if (isEnough.test(text)) resolve();
      });
    });
  });
  const ended = new Promise<{ text: string; isWhole: boolean }>((resolve) => {
    asked.on("response", (answer) =>
      answer.on("close", () => resolve({ text, isWhole: answer.complete })),
    );
    asked.on("error", () => resolve({ text, isWhole: false }));
  });
  asked.end(JSON.stringify({ stream: true, ...body }));
  return { began, ended, destroy: () => void asked.destroy() };
}
