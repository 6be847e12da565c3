import { isRecord } from "../../../protocol/isRecord.ts";
import { type Config, type Token, optionalPart, partsOf, unknownType } from "./parts.ts";

/** The tokens of a text with the special ones that belong to it. */
export type PostProcess = (tokens: Token[], withSpecials: boolean) => Token[];

/** @param file `tokenizer.json` */
export function createPostProcessor(file: Config): PostProcess {
  const part = optionalPart(file, "post_processor");
  return part ? processOf(part) : (tokens) => tokens;
}

function processOf(part: Config): PostProcess {
  const { type } = part;
  if (type === "Sequence") {
    const all = partsOf("post_processor", part, "processors").map(processOf);
    return (tokens, withSpecials) => all.reduce((left, one) => one(left, withSpecials), tokens);
  }
  // It changes offsets alone.
  if (type === "ByteLevel") return (tokens) => tokens;
  if (type === "TemplateProcessing") return template(part);
  if (type === "BertProcessing" || type === "RobertaProcessing") {
    const [before, after] = [ofPair(part, "cls"), ofPair(part, "sep")];
    return (tokens, withSpecials) => (withSpecials ? [before, ...tokens, after] : tokens);
  }
  throw unknownType("post_processor", part);
}

function template({ single, special_tokens: specials }: Config): PostProcess {
  const pieces = (Array.isArray(single) ? single : [undefined]).map((piece: unknown) => {
    const { Sequence: sequence, SpecialToken: special } = isRecord(piece) ? piece : {};
    if (isRecord(sequence) && sequence["id"] === "A") return "text";
    const { id } = isRecord(special) ? special : {};
    const known = isRecord(specials) && typeof id === "string" ? specials[id] : undefined;
    if (isRecord(known) && isIds(known["ids"])) {
      return known["ids"].map((one): Token => ({ id: one, token: String(id), bytes: 0 }));
    }
    throw new Error(`its post_processor has the piece ${JSON.stringify(piece)}`);
  });
  return (tokens, withSpecials) =>
    pieces.flatMap((piece) => (piece === "text" ? tokens : withSpecials ? piece : []));
}

function isIds(ids: unknown): ids is number[] {
  return Array.isArray(ids) && ids.every(Number.isInteger);
}

function ofPair(part: Config, name: string): Token {
  const [token, id] = Array.isArray(part[name]) ? (part[name] as unknown[]) : [];
  if (typeof token === "string" && typeof id === "number") return { id, token, bytes: 0 };
  throw new Error(`its post_processor has no ${name}`);
}
