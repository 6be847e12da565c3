import { didYouMean } from "../protocol/didYouMean.ts";
import { OPTION_SYNONYMS, nameFor } from "../sdk/validation/optionSynonyms.ts";
import { shellWord } from "./terminal/shell.ts";

/** Words that users of other tools may type for a command. */
const COMMAND_SYNONYMS: Record<string, readonly string[]> = {
  init: ["new", "create", "setup"],
  check: ["lint", "validate", "verify"],
  start: ["train", "run", "fit", "learn", "finetune", "fine-tune", "sft", "dpo"],
  "start --resume": ["resume", "continue"],
  cancel: ["stop", "kill", "abort", "end"],
  ui: ["dev", "dashboard", "page", "web", "open"],
  jobs: ["list", "ls", "ps", "runs", "history", "status"],
  infer: ["ask", "chat", "generate", "predict", "prompt", "complete", "answer", "test"],
  serve: ["server", "api", "deploy"],
  eval: ["evaluate", "score", "compare", "benchmark"],
  export: ["merge", "convert", "gguf", "quantize", "save", "publish"],
};

/** Commands that read the trainer. */
const TRAINER_COMMANDS = new Set(["build", "check", "start", "ui"]);
const COMMANDER_SUGGESTION = /\n\(Did you mean [^\n]*\?\)/;
const COMMANDER_SUGGESTED = /\(Did you mean (\S+)\?\)/;

/**
 * Commander's message about an unknown word, with a suggestion.
 * @param args the command line after `kit`
 */
export function withSuggestions(text: string, commands: readonly string[], args: string[]): string {
  const [, kind, word = ""] = /^error: unknown (command|option) '([^'=]*)/.exec(text) ?? [];
  const command = args.find((arg) => !arg.startsWith("-")) ?? "";
  if (kind === "command") return withCommand(text, word, commands);
  if (kind === "option" && TRAINER_COMMANDS.has(command)) return withOption(text, word);
  if (command === "infer" && text.startsWith("error: too many arguments")) {
    const [, model = "", ...words] = args;
    const isPlain = args.every((arg) => !arg.startsWith("-"));
    const quoted = isPlain ? shellWord(words.join(" ")) : '"…"';
    return `${text}Quote the prompt: npx kit infer ${isPlain ? shellWord(model) : "latest"} ${quoted}\n`;
  }
  return text;
}

function withCommand(text: string, word: string, commands: readonly string[]): string {
  const exact = nameFor(word, COMMAND_SYNONYMS);
  if (exact === undefined && COMMANDER_SUGGESTION.test(text)) {
    return text.replace(COMMANDER_SUGGESTED, "(Did you mean npx kit $1?)");
  }
  const words = [...commands, ...Object.values(COMMAND_SYNONYMS).flat()];
  const near = /"(.+)"/.exec(didYouMean(word, words))?.[1] ?? "";
  const command = exact ?? (commands.includes(near) ? near : nameFor(near, COMMAND_SYNONYMS));
  if (command === undefined) return `${text}(npx kit --help lists the commands)\n`;
  return `${text.replace(COMMANDER_SUGGESTION, "")}(Did you mean npx kit ${command}?)\n`;
}

function withOption(text: string, flag: string): string {
  const word = flag.replace(/^--?/, "");
  const plain = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, "");
  const option =
    nameFor(word, OPTION_SYNONYMS) ??
    Object.keys(OPTION_SYNONYMS).find((name) => plain(name) === plain(word));
  if (option === undefined) return text;
  const advice = `(Training options live in code: set ${option} in createTrainer({ … }), for example in src/kit/trainer.ts.)`;
  return `${text.replace(COMMANDER_SUGGESTION, "")}${advice}\n`;
}
