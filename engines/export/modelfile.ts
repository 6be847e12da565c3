import type { Render } from "../tokens/chatTemplate.ts";
import { goTemplate } from "./goTemplate.ts";

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
