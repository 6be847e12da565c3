import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const LLAMA = fileURLToPath(new URL("../../../.llama", import.meta.url));

/** Whether `npm run llama` has installed llama.cpp. */
export const hasLlama = existsSync(join(LLAMA, "kit-digest.txt"));

/** A folder with node-llama-cpp. */
export const PICKED = join(LLAMA, "picked");

/** What llama.cpp is asked of a file. */
interface Asked {
  file: string;
  /** An adapter's file. */
  lora?: string;
  /** To be tokens. */
  texts?: string[];
  /** After each of whose tokens the logits are wanted. */
  sequences?: number[][];
  /** To be answered greedily, each in a chat of its own. */
  questions?: string[];
}

interface InferMessage {
  /** Of the texts, special tokens read as such. */
  ids: number[][];
  /** The texts of these ids. */
  texts: string[];
  bos: number | null;
  /** Whether it begins a text with it. */
  addsBos: boolean;
  /** [token][id] */
  logits: number[][][];
  answers: { text: string; stopReason: string }[];
}

/** In a process of its own, which ends with it. */
export async function askLlama(asked: Asked): Promise<InferMessage> {
  const entry = join(LLAMA, "picked/node_modules/node-llama-cpp/dist/index.js");
  const program = fileURLToPath(new URL("askLlama.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, entry], { stdio: ["pipe", "pipe", "pipe"] });
  const ended = once(child, "close");
  child.stdin.end(JSON.stringify(asked));
  const [told, problems] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`llama.cpp ended with ${code}: ${problems}`);
  return JSON.parse(told) as InferMessage;
}
