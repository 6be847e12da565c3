import type { Message } from "../../protocol/chat.ts";
import constants from "../constants.json" with { type: "json" };
import { type Render, tryRender } from "./chatTemplate.ts";
import { createTokenFinder } from "./stopTokens.ts";

/** Finds special tokens that are spelled out in text, as in prompts that a chat template has rendered. */
export interface Markup {
  /** Whether a prompt is already rendered with the model's chat template. */
  isRendered: (prompt: string) => boolean;
  /** The first of the template's own tokens in a text, if any. */
  ownTokenIn: (text: string) => string | undefined;
  /** The first special token of another model, which this tokenizer splits like other text. */
  foreignTokenIn: (text: string) => string | undefined;
}

interface MarkupOptions {
  added: readonly { content: string; special: boolean }[];
  /** Texts of the bos token and of the stop tokens. */
  bos: string | undefined;
  stopTexts: readonly string[];
  render: Render | undefined;
}

/** How models write their special tokens: `<|im_start|>`, `<start_of_turn>`, `[INST]`. */
const MARKERS = new RegExp(constants.markers, "g");

const QUESTION_TEXT = "a question";

export function createMarkup(options: MarkupOptions): Markup {
  let cached: ReturnType<typeof marksOf> | undefined;
  const marks = () => (cached ??= marksOf(options));
  const { render, added } = options;
  const texts = new Set(added.map(({ content }) => content));
  return {
    isRendered(prompt) {
      if (!render) return false;
      const { own, opening, closing } = marks();
      if (own.some((text) => prompt.startsWith(text))) return true;
      // Some templates frame messages in plain words, which a prompt may contain by chance.
      const isFramed = prompt.startsWith(opening) && prompt.trimEnd().endsWith(closing);
      return opening !== "" && closing !== "" && isFramed;
    },
    ownTokenIn: (text) => (render ? marks().findOwn(text)[0]?.content : undefined),
    foreignTokenIn(text) {
      const isForeign = (marker: string) => !texts.has(marker) && !marks().written.includes(marker);
      return text.match(MARKERS)?.find(isForeign);
    },
  };
}

/** The markup that the chat template writes around messages. */
function marksOf({ added, bos = "", stopTexts, render }: MarkupOptions) {
  // Some templates refuse a system message.
  const written = render
    ? CONVERSATIONS.map((messages) => tryRender(render, { messages }, true) ?? "").join("")
    : "";
  const special = createTokenFinder(added)(written).filter((token) => token.special);
  const all = new Set([bos, ...stopTexts, ...special.map(({ content }) => content)]);
  const own = [...all].filter((text) => text !== "");
  const [opening = "", closing = ""] = render ? frameOf(render, bos) : [];
  const findOwn = createTokenFinder(own.map((content) => ({ content })));
  return { written, own, findOwn, opening, closing };
}

/** For Kit's own tokenizer, whose special tokens no text can spell. */
export function plainMarkup(names: readonly string[]): Markup {
  const isForeign = (marker: string) => !names.includes(marker);
  return {
    isRendered: () => false,
    ownTokenIn: () => undefined,
    foreignTokenIn: (text) => text.match(MARKERS)?.find(isForeign),
  };
}

const QUESTION: Message = { role: "user", content: QUESTION_TEXT };
const CONVERSATIONS: Message[][] = [
  [QUESTION],
  [QUESTION, { role: "assistant", content: "an answer" }, QUESTION],
  [{ role: "system", content: "a task" }, QUESTION],
];

/** The text that the template writes around a question, without bos and white space. */
function frameOf(render: Render, begin: string): [opening: string, closing: string] {
  const [before = "", after = ""] = (tryRender(render, { messages: [QUESTION] }, true) ?? "").split(
    QUESTION_TEXT,
  );
  return [(before.startsWith(begin) ? before.slice(begin.length) : before).trim(), after.trim()];
}
