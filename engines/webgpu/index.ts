import type { Engine } from "../../protocol/engine.ts";
import type { WebgpuOptions } from "../../protocol/engineOptions.ts";
import { OPTIMIZER_FILE } from "../checkpoint/trainerState.ts";
import { createEmbeddedEngine } from "../embedded/index.ts";
import { prepareFor } from "../embedded/prepare.ts";

/**
 * The WebGPU engine: training on any GPU through the project's `webgpu`, in a process of its own. The embedded engine
 * answers with what it trained.
 * @param project folder to resolve it from
 */
export function createWebgpuEngine(options: WebgpuOptions = {}, project = process.cwd()): Engine {
  const gpu = { options, project };
  const embedded = createEmbeddedEngine();
  const name = "webgpu";
  // Lazy imports: a project is loaded more often than it trains.
  const load = () => import("./train/trainProcess.ts");
  return {
    name,
    resumeFiles: [OPTIMIZER_FILE],
    objectives: ["dpo", "kto"],
    prepare: (requested) => prepareFor({ name }, requested),
    check: async (requested) => (await load()).checkInProcess(gpu, requested),
    train: async (requested) => (await load()).trainInProcess(gpu, requested),
    load: embedded.load,
  };
}
