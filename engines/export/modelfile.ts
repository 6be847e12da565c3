import type { Message } from "../../protocol/chat.ts";
import { isKitError } from "../../protocol/error.ts";
import type { Render } from "../tokens/chatTemplate.ts";

/** What surrounds the words of each role, and what comes before an answer. */
interface Turns {
  /** In place of a system message. */
  unasked: string;
  system: [string, string];
  user: [string, string];
  assistant: [string, string];
  opening: string;
}

const [SYSTEM, FIRST, ANSWER, SECOND] = ["a system", "first words", "an answer", "second words"];

/**
 * A chat template in the language of Ollama's, that of Go, for conversations without tools.
 * @param bos what Ollama writes before any text by itself
 * @returns undefined for a template that does more than surround each message
 */
function goTemplate(render: Render, bos: string): string | undefined {
  const turns = turnsOf(render);
  if (!turns || !CHECKS.every((roles) => isSame(turns, render, roles))) return undefined;
  const { unasked, system, user, assistant, opening } = turns;
  const texts = [unasked, ...system, ...user, ...assistant, opening];
  if (texts.some((text) => /\{\{|"""/.test(text))) return undefined;
  const start = (text: string) => (text.startsWith(bos) ? text.slice(bos.length) : text);
  const turn = ([before, after]: [string, string]) => `${before}{{ .Content }}${after}`;
  return [
    unasked === bos || unasked === "" ? "" : `{{ if not .System }}${start(unasked)}{{ end }}`,
    `{{ range .Messages }}{{ if eq .Role "system" }}${start(turn(system))}`,
    `{{ else if eq .Role "user" }}${turn(user)}`,
    `{{ else if eq .Role "assistant" }}${turn(assistant)}{{ end }}{{ end }}${opening}`,
  ].join("");
}

/** Conversations that both templates must render alike. */
const CHECKS: Message["role"][][] = [
  ["user"],
  ["system", "user"],
  ["user", "assistant", "user"],
  ["system", "user", "assistant", "user", "assistant", "user"],
];

function isSame(turns: Turns, render: Render, roles: Message["role"][]): boolean {
  const messages = roles.map((role, i) => ({ role, content: `Words ${i}.\n{ "a": "${role}" }` }));
  const written = messages.map(({ role, content }) => {
    const [before, after] = turns[role as "system" | "user" | "assistant"];
    return before + content + after;
  });
  const start = roles[0] === "system" ? "" : turns.unasked;
  return tried(render, messages, true) === start + written.join("") + turns.opening;
}

/** Finds the text between marker words that no template contains. */
function turnsOf(render: Render): Turns | undefined {
  const say = (role: Message["role"], content: string): Message => ({ role, content });
  const asked = [say("system", SYSTEM), say("user", FIRST)];
  const answered = [...asked, say("assistant", ANSWER)];
  const [alone, before, open, after, again] = [
    tried(render, [say("user", FIRST)]),
    tried(render, asked),
    tried(render, asked, true),
    tried(render, answered),
    tried(render, [...answered, say("user", SECOND)]),
  ];
  if (alone === undefined || !before || !open || !after || !again) return undefined;
  const opening = without(before, open);
  const userEnd = split(before, FIRST)?.[1];
  const assistantEnd = split(after, ANSWER)?.[1];
  const toAnswer = split(split(after, FIRST)?.[1], ANSWER)?.[0];
  const toSecond = split(split(again, ANSWER)?.[1], SECOND)?.[0];
  const [systemStart, toFirst] = [
    split(before, SYSTEM)?.[0],
    split(split(before, SYSTEM)?.[1], FIRST)?.[0],
  ];
  const userStart = without(assistantEnd, toSecond);
  const assistantStart = without(userEnd, toAnswer);
  const systemEnd = withoutEnd(toFirst, userStart);
  const unasked = withoutEnd(split(alone, FIRST)?.[0], userStart);
  const all = [
    unasked,
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
    unasked: unasked!,
    system: [systemStart!, systemEnd!],
    user: [userStart!, userEnd!],
    assistant: [assistantStart!, assistantEnd!],
    opening: opening!,
  };
}

function tried(render: Render, messages: Message[], opens = false): string | undefined {
  try {
    return render({ messages }, opens);
  } catch (error) {
    // Some templates refuse a system message.
    if (isKitError(error)) return undefined;
    throw error;
  }
}

/** The text before and after a message's words. */
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

/** What Ollama does not read from a GGUF file. */
interface ModelfileOptions {
  /** The chat template; undefined for a model that only continues text. */
  render: Render | undefined;
  /** For requests without a system message of their own. */
  system?: string | undefined;
  /** Whether a date that it writes is that of each rendering, and not one that the model has learned. */
  isOfToday: boolean;
  /** What Ollama writes before any text by itself, from the file. */
  bos: string;
  /** Texts of the tokens that end an answer. */
  ends: readonly string[];
}

/**
 * A Modelfile, with which Ollama answers as Kit does. @param file the GGUF file beside it
 * @returns `problem`: why it has no template
 */
export function modelfile(
  file: string,
  { render, system = "", isOfToday, bos, ends }: ModelfileOptions,
): { text: string; problem?: string } {
  const template = render ? templateOf(render, isOfToday, bos) : "{{ .Prompt }}";
  const problem =
    "Ollama's templates cannot say what this model's chat template does. Write a TEMPLATE into the Modelfile.";
  const lines = [
    `FROM ./${file}`,
    template === undefined ? `# ${problem}` : `TEMPLATE """${template}"""`,
    // Ollama's language cannot say three quotes in a row.
    ...(system === "" || system.includes('"""') ? [] : [`SYSTEM """${system}"""`]),
    ...ends.map((end) => `PARAMETER stop ${JSON.stringify(end)}`),
    // Kit's own defaults.
    "PARAMETER temperature 0",
    "PARAMETER repeat_penalty 1",
  ];
  return { text: `${lines.join("\n")}\n`, ...(template === undefined && { problem }) };
}

/** Undefined also where the date would be that of the export for ever. */
function templateOf(render: Render, isOfToday: boolean, bos: string): string | undefined {
  const template = goTemplate(render, bos);
  const atAnother = isOfToday ? render.at?.(new Date(0)) : undefined;
  return atAnother && goTemplate(atAnother, bos) !== template ? undefined : template;
}
