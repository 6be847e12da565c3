import type { Message } from "../../protocol/chat.ts";
import { isKitError } from "../../protocol/error.ts";
import constants from "../constants.json" with { type: "json" };
import type { Render } from "./chatTemplate.ts";
import { createTokenFinder } from "./ends.ts";

/** Special tokens that a text spells, as one does that a chat template has rendered. */
export interface Markup {
  /** Whether a prompt begins as the model's chat template begins one, so that it is read as it is. */
  isRendered: (prompt: string) => boolean;
  /** The model's own token in it that the chat template writes around messages; undefined without one. */
  ownIn: (text: string) => string | undefined;
  /** Another model's, which this one reads letter by letter. */
  foreignIn: (text: string) => string | undefined;
}

interface MarkupOptions {
  /** Those of the tokenizer. */
  added: readonly { content: string; special: boolean }[];
  /** The text of the token that begins any text, and of those at which answers stop. */
  bos: string | undefined;
  ends: readonly string[];
  render: Render | undefined;
}

/** How models write their special tokens: `<|im_start|>`, `<start_of_turn>`, `[INST]`. */
const MARKERS = new RegExp(constants.markers, "g");

const WORDS = "a question";

export function createMarkup(options: MarkupOptions): Markup {
  let known: ReturnType<typeof marksOf> | undefined;
  const marks = () => (known ??= marksOf(options));
  const { render, added } = options;
  const texts = new Set(added.map(({ content }) => content));
  return {
    isRendered(prompt) {
      if (!render) return false;
      const { own, opening, closing } = marks();
      if (own.some((text) => prompt.startsWith(text))) return true;
      // Some templates write words alone, which others may say.
      const isFramed = prompt.startsWith(opening) && prompt.trimEnd().endsWith(closing);
      return opening !== "" && closing !== "" && isFramed;
    },
    ownIn: (text) => (render ? marks().findOwn(text)[0]?.content : undefined),
    foreignIn(text) {
      const isForeign = (one: string) => !texts.has(one) && !marks().written.includes(one);
      return text.match(MARKERS)?.find(isForeign);
    },
  };
}

/** What the chat template writes around messages. */
function marksOf({ added, bos = "", ends, render }: MarkupOptions) {
  const written = render ? CONVERSATIONS.map((messages) => tried(render, messages)).join("") : "";
  const special = createTokenFinder(added)(written).filter((token) => token.special);
  const all = new Set([bos, ...ends, ...special.map(({ content }) => content)]);
  const own = [...all].filter((text) => text !== "");
  const [opening = "", closing = ""] = render ? frameOf(render, bos) : [];
  const findOwn = createTokenFinder(own.map((content) => ({ content })));
  return { written, own, findOwn, opening, closing };
}

/** Kit's own tokenizer: no text spells its special tokens. */
export function plainMarkup(names: readonly string[]): Markup {
  const isForeign = (marker: string) => !names.includes(marker);
  return {
    isRendered: () => false,
    ownIn: () => undefined,
    foreignIn: (text) => text.match(MARKERS)?.find(isForeign),
  };
}

const QUESTION: Message = { role: "user", content: WORDS };
const CONVERSATIONS: Message[][] = [
  [QUESTION],
  [QUESTION, { role: "assistant", content: "an answer" }, QUESTION],
  [{ role: "system", content: "a task" }, QUESTION],
];

function tried(render: Render, messages: Message[]): string {
  try {
    return render({ messages }, true);
  } catch (error) {
    // Some templates refuse a system message.
    if (isKitError(error)) return "";
    throw error;
  }
}

/** What the template writes around a question, without what begins any text, and without white space. */
function frameOf(render: Render, begin: string): [opening: string, closing: string] {
  const [before = "", after = ""] = tried(render, [QUESTION]).split(WORDS);
  return [(before.startsWith(begin) ? before.slice(begin.length) : before).trim(), after.trim()];
}
