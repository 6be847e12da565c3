import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { AnswerSizes, AnswerTimes, LlamaSizes } from "./answers.ts";
import { type Major, nodeOfMajor } from "./newerNode.ts";
import { openModelOf } from "./openModel.ts";
import { ROOT, program } from "./places.ts";
import type { Scope } from "./scope.ts";
import { type Asked, startAsked } from "./stepper.ts";

/** llama.cpp's kernels: those with AVX2 at most, or the newest that the processor has. */
export type Build = "avx2" | "picked";
export type Sizes = Omit<AnswerSizes, "model">;

/** Processes that answer from one model. */
export interface AnswerProcesses {
  ours: (major: Major | undefined, sizes: Sizes) => Asked<AnswerTimes>;
  /** None without `npm run llama`. */
  llama: Llama | undefined;
}

export interface Llama {
  start: (build: Build, sizes: Sizes) => Asked<AnswerTimes>;
  /** The size of the model's file in a type, in MB. */
  fileSize: (type: Sizes["quantize"]) => number;
  /** The builds that differ, and what the table calls them. */
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
      return startAsked(scope, node, [program("answer"), JSON.stringify({ ...sizes, model })]);
    },
    llama: hasLlama ? createLlama(scope, model) : undefined,
  };
}

function createLlama(scope: Scope, model: string): Llama {
  const fileOf = (type: Sizes["quantize"]) =>
    join(LLAMA, `${type === undefined ? "BF16" : type.toUpperCase()}.gguf`);
  function start(build: Build, sizes: Sizes): Asked<AnswerTimes> {
    const more = { model, folder: join(LLAMA, build), file: fileOf(sizes.quantize) };
    const asked: LlamaSizes = { ...sizes, ...more };
    return startAsked(scope, process.execPath, [program("llama"), JSON.stringify(asked)]);
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
