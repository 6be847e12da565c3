import type { Engine } from "../../protocol/engine.ts";
import type { WebgpuOptions } from "../../protocol/engineOptions.ts";
import { OPTIMIZER_FILE } from "../checkpoint/trainerState.ts";
import { createEmbeddedEngine } from "../embedded/index.ts";
import { prepareFor } from "../embedded/prepare.ts";

const CPU_ANSWERS =
  "webgpu() only trains; the embedded engine answers, on the CPU. On a GPU, llama() answers";

/**
 * The WebGPU engine: training on any GPU through the project's `webgpu`, in a process of its own. The embedded engine
 * answers with what it trained.
 * @param project folder to resolve it from
 */
export function createWebgpuEngine(options: WebgpuOptions = {}, project = process.cwd()): Engine {
  const gpu = { options, project };
  const embedded = createEmbeddedEngine();
  const name = "webgpu";
  /** Whether it has been said that the CPU answers, as training also says. */
  let said = false;
  // Lazy imports: a project is loaded more often than it trains.
  const load = () => import("./train/trainProcess.ts");
  return {
    name,
    trainsOnly: true,
    resumeFiles: [OPTIMIZER_FILE],
    objectives: ["dpo", "kto"],
    prepare: (requested) => prepareFor({ name }, requested),
    async check(requested) {
      said = true;
      return (await load()).checkInProcess(gpu, requested);
    },
    async train(requested) {
      said = true;
      return (await load()).trainInProcess(gpu, requested);
    },
    async load(directory, loadOptions) {
      if (!said && loadOptions?.onNote) {
        loadOptions.onNote(CPU_ANSWERS);
        said = true;
      }
      return embedded.load(directory, loadOptions);
    },
  };
}
