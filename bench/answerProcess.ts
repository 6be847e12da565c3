import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { AnswerSizes, AnswerTimes, LlamaSizes } from "./answers.ts";
import { type Major, nodeOfMajor } from "./newerNode.ts";
import { openModelOf } from "./openModel.ts";
import { ROOT, program } from "./paths.ts";
import type { Scope } from "./scope.ts";
import { type Worker, startWorker } from "./worker.ts";

/** llama.cpp's kernels: at most AVX2, or the newest that the processor supports. */
export type Build = "avx2" | "picked";
export type Sizes = Omit<AnswerSizes, "model">;

/** Processes that answer from one model. */
export interface AnswerProcesses {
  ours: (major: Major | undefined, sizes: Sizes) => Worker<AnswerTimes>;
  /** Undefined without `npm run llama`. */
  llama: Llama | undefined;
}

export interface Llama {
  start: (build: Build, sizes: Sizes) => Worker<AnswerTimes>;
  /** Size of the model's file in this type, in MB. */
  fileSize: (type: Sizes["quantize"]) => number;
  /** The differing builds, with their names in the table. */
  builds: () => Promise<[Build, string][]>;
}

const LLAMA = join(ROOT, ".llama");
const SMALLEST: Sizes = { quantize: "q4_0", threads: 1, prompt: 32, answer: 1, sequences: 1 };

export function answerProcesses(scope: Scope): AnswerProcesses {
  const isTiny = scope.size === "tiny";
  const hasLlama = !isTiny && existsSync(join(LLAMA, "Q4_0.gguf"));
  const model = openModelOf(scope);
  return {
    ours(major, sizes) {
      const node = major === undefined ? process.execPath : nodeOfMajor(major);
      return startWorker(scope, node, [program("answer"), JSON.stringify({ ...sizes, model })]);
    },
    llama: hasLlama ? createLlama(scope, model) : undefined,
  };
}

function createLlama(scope: Scope, model: string): Llama {
  const fileOf = (type: Sizes["quantize"]) =>
    join(LLAMA, `${type === undefined ? "BF16" : type.toUpperCase()}.gguf`);
  function start(build: Build, sizes: Sizes): Worker<AnswerTimes> {
    const paths = { model, folder: join(LLAMA, build), file: fileOf(sizes.quantize) };
    const llamaSizes: LlamaSizes = { ...sizes, ...paths };
    return startWorker(scope, process.execPath, [program("llama"), JSON.stringify(llamaSizes)]);
  }
  return {
    start,
    fileSize: (type) => statSync(fileOf(type)).size / 1e6,
    async builds() {
      const { kernels } = await start("picked", SMALLEST).ask();
      if (kernels === "haswell") return [["avx2", "llama.cpp, AVX2 build, as it picks itself"]];
      return [
        ["avx2", "llama.cpp, AVX2 build"],
        ["picked", `llama.cpp, ${kernels} build, as it picks itself`],
      ];
    },
  };
}
