import { importPackage } from "../../disk/importPackage.ts";
import { KitError, messageOf } from "../../protocol/error.ts";

/** The part of `node-llama-cpp`, an optional peer dependency, that Kit uses. */
export interface NodeLlama {
  getLlama: (options: object) => Promise<Llama>;
  getModuleVersion: () => Promise<string>;
}

export interface Llama {
  loadModel: (options: object) => Promise<LlamaModel>;
  dispose: () => Promise<void>;
}

export interface LlamaModel {
  createContext: (options: object) => Promise<LlamaContext>;
  dispose: () => Promise<void>;
}

export interface LlamaContext {
  getSequence: () => LlamaSequence;
  dispose: () => Promise<void>;
}

/** A slot for one answer at a time, with its KV cache. */
export interface LlamaSequence {
  readonly contextSize: number;
  readonly contextTokens: number[];
  eraseContextTokenRanges: (ranges: { start: number; end: number }[]) => Promise<void>;
  evaluateWithoutGeneratingNewTokens: (tokens: number[]) => Promise<void>;
  controlledEvaluate: (
    input: (number | [number, object])[],
  ) => Promise<({ next: NextLogits } | undefined)[]>;
}

/** llama.cpp's logits of the next token. */
export interface NextLogits {
  logits?: Map<number, number>;
  /** Σ e^(logit − max) over all tokens. */
  totalLogitWeight?: number;
}

const PACKAGE = "node-llama-cpp";
/** The supported major version, and its minimum minor version. */
const [MAJOR, MINOR] = [3, 22];

/**
 * Imports the project's node-llama-cpp.
 * @param project folder to resolve it from
 * @throws KitError `CONFIG_INVALID` if it is missing or of another version
 */
export async function importNodeLlama(project: string): Promise<NodeLlama> {
  const found = (await importFrom(project)) as NodeLlama;
  const version = await found.getModuleVersion();
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major === MAJOR && minor >= MINOR) return found;
  throw new KitError(
    "CONFIG_INVALID",
    `llama() needs ${PACKAGE} ${MAJOR}.${MINOR} or a later ${MAJOR}.x, and found ${version}. Run: npm install ${PACKAGE}@${MAJOR}`,
  );
}

async function importFrom(project: string): Promise<unknown> {
  try {
    return await importPackage(PACKAGE, project);
  } catch (cause) {
    throw new KitError(
      "CONFIG_INVALID",
      `llama() answers through ${PACKAGE}, which cannot be loaded from ${project}. Run: npm install ${PACKAGE}`,
      { cause },
    );
  }
}

/** @throws KitError `CONFIG_INVALID` if it has no llama.cpp for this machine */
export async function startLlama(project: string, threads: number): Promise<Llama> {
  const { getLlama } = await importNodeLlama(project);
  try {
    return await getLlama({
      gpu: "auto",
      build: "never",
      skipDownload: true,
      progressLogs: false,
      maxThreads: threads,
      logLevel: "error",
    });
  } catch (cause) {
    throw new KitError(
      "CONFIG_INVALID",
      `${PACKAGE} has no llama.cpp that runs here (${messageOf(cause)}). Run: npx ${PACKAGE} source download`,
      { cause },
    );
  }
}
