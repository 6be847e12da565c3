import type { Message } from "../../protocol/chat.ts";
import { isKitError } from "../../protocol/error.ts";
import type { Render } from "../tokens/chatTemplate.ts";

/** The text that a chat template writes around each role's messages, and before an answer. */
interface Turns {
  /** What replaces a missing system message. */
  noSystem: string;
  system: [string, string];
  user: [string, string];
  assistant: [string, string];
  opening: string;
}

const [SYSTEM, FIRST, ANSWER, SECOND] = ["a system", "first words", "an answer", "second words"];

/**
 * A chat template as Ollama's Go template, for conversations without tools.
 * @param bos prefix that Ollama adds itself
 * @returns undefined for a template that does more than wrap each message
 */
function goTemplate(render: Render, bos: string): string | undefined {
  const turns = turnsOf(render);
  if (!turns || !CHECKS.every((roles) => rendersAlike(turns, render, roles))) return undefined;
  const { noSystem, system, user, assistant, opening } = turns;
  const texts = [noSystem, ...system, ...user, ...assistant, opening];
  if (texts.some((text) => /\{\{|"""/.test(text))) return undefined;
  const withoutBos = (text: string) => (text.startsWith(bos) ? text.slice(bos.length) : text);
  const turn = ([before, after]: [string, string]) => `${before}{{ .Content }}${after}`;
  return [
    noSystem === bos || noSystem === ""
      ? ""
      : `{{ if not .System }}${withoutBos(noSystem)}{{ end }}`,
    `{{ range .Messages }}{{ if eq .Role "system" }}${withoutBos(turn(system))}`,
    `{{ else if eq .Role "user" }}${turn(user)}`,
    `{{ else if eq .Role "assistant" }}${turn(assistant)}{{ end }}{{ end }}${opening}`,
  ].join("");
}

/** Conversations that both templates must render identically. */
const CHECKS: Message["role"][][] = [
  ["user"],
  ["system", "user"],
  ["user", "assistant", "user"],
  ["system", "user", "assistant", "user", "assistant", "user"],
];

function rendersAlike(turns: Turns, render: Render, roles: Message["role"][]): boolean {
  const messages = roles.map((role, i) => ({ role, content: `Words ${i}.\n{ "a": "${role}" }` }));
  const written = messages.map(({ role, content }) => {
    const [before, after] = turns[role as "system" | "user" | "assistant"];
    return before + content + after;
  });
  const start = roles[0] === "system" ? "" : turns.noSystem;
  return tryRender(render, messages, true) === start + written.join("") + turns.opening;
}

/** Renders marker words and finds the text between them. */
function turnsOf(render: Render): Turns | undefined {
  const message = (role: Message["role"], content: string): Message => ({ role, content });
  const question = [message("system", SYSTEM), message("user", FIRST)];
  const answered = [...question, message("assistant", ANSWER)];
  const [userOnly, closed, opened, afterAnswer, afterSecond] = [
    tryRender(render, [message("user", FIRST)]),
    tryRender(render, question),
    tryRender(render, question, true),
    tryRender(render, answered),
    tryRender(render, [...answered, message("user", SECOND)]),
  ];
  if (userOnly === undefined || !closed || !opened || !afterAnswer || !afterSecond)
    return undefined;
  const opening = without(closed, opened);
  const userEnd = split(closed, FIRST)?.[1];
  const assistantEnd = split(afterAnswer, ANSWER)?.[1];
  const toAnswer = split(split(afterAnswer, FIRST)?.[1], ANSWER)?.[0];
  const toSecond = split(split(afterSecond, ANSWER)?.[1], SECOND)?.[0];
  const [systemStart, toFirst] = [
    split(closed, SYSTEM)?.[0],
    split(split(closed, SYSTEM)?.[1], FIRST)?.[0],
  ];
  const userStart = without(assistantEnd, toSecond);
  const assistantStart = without(userEnd, toAnswer);
  const systemEnd = withoutEnd(toFirst, userStart);
  const noSystem = withoutEnd(split(userOnly, FIRST)?.[0], userStart);
  const all = [
    noSystem,
    systemStart,
    systemEnd,
    userStart,
    userEnd,
    assistantStart,
    assistantEnd,
    opening,
  ];
  if (all.includes(undefined)) return undefined;
  return {
    noSystem: noSystem!,
    system: [systemStart!, systemEnd!],
    user: [userStart!, userEnd!],
    assistant: [assistantStart!, assistantEnd!],
    opening: opening!,
  };
}

function tryRender(render: Render, messages: Message[], opensAnswer = false): string | undefined {
  try {
    return render({ messages }, opensAnswer);
  } catch (error) {
    // Some templates refuse a system message.
    if (isKitError(error)) return undefined;
    throw error;
  }
}

/** The text before and after the given words. */
function split(text: string | undefined, words: string): [string, string] | undefined {
  const at = text?.indexOf(words) ?? -1;
  return text === undefined || at < 0
    ? undefined
    : [text.slice(0, at), text.slice(at + words.length)];
}

function without(start: string | undefined, text: string | undefined): string | undefined {
  return start === undefined || !text?.startsWith(start) ? undefined : text.slice(start.length);
}

function withoutEnd(text: string | undefined, end: string | undefined): string | undefined {
  return end === undefined || !text?.endsWith(end)
    ? undefined
    : text.slice(0, text.length - end.length);
}

/** Settings that Ollama doesn't read from a GGUF file. */
interface ModelfileOptions {
  /** The chat template; undefined for a model that only completes text. */
  render: Render | undefined;
  /** Default system message. */
  system?: string | undefined;
  /** Whether the template writes today's date rather than the training date. */
  usesCurrentDate: boolean;
  /** The BOS token's text, which Ollama adds itself, from the GGUF file. */
  bos: string;
  /** Texts of the stop tokens. */
  stopTexts: readonly string[];
}

/**
 * A Modelfile that makes Ollama answer as Kit does. @param file the GGUF file beside it
 * @returns `problem`: why it lacks a template
 */
export function modelfile(
  file: string,
  { render, system = "", usesCurrentDate, bos, stopTexts }: ModelfileOptions,
): { text: string; problem?: string } {
  const template = render ? templateOf(render, usesCurrentDate, bos) : "{{ .Prompt }}";
  const problem =
    "Ollama's template language cannot express this model's chat template. Write a TEMPLATE into the Modelfile.";
  const lines = [
    `FROM ./${file}`,
    template === undefined ? `# ${problem}` : `TEMPLATE """${template}"""`,
    // A Modelfile cannot have three quotes in a row.
    ...(system === "" || system.includes('"""') ? [] : [`SYSTEM """${system}"""`]),
    ...stopTexts.map((end) => `PARAMETER stop ${JSON.stringify(end)}`),
    // Kit's own defaults.
    "PARAMETER temperature 0",
    "PARAMETER repeat_penalty 1",
  ];
  return { text: `${lines.join("\n")}\n`, ...(template === undefined && { problem }) };
}

/** Ollama's template; undefined also if it would contain today's date as a constant. */
function templateOf(render: Render, usesCurrentDate: boolean, bos: string): string | undefined {
  const template = goTemplate(render, bos);
  const atOtherDate = usesCurrentDate ? render.at?.(new Date(0)) : undefined;
  return atOtherDate && goTemplate(atOtherDate, bos) !== template ? undefined : template;
}
