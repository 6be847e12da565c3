import type { Engine } from "../../protocol/engine.ts";
import { createInferThread } from "./infer/inferThread.ts";
import { prepare } from "./prepare.ts";
import { trainOnThread } from "./train/trainThread.ts";

/**
 * The embedded engine: gradient descent in WebAssembly, on threads of its own.
 */
export function createEmbeddedEngine(): Engine {
  const { load } = createInferThread();
  return { name: "embedded", prepare, train: trainOnThread, load };
}
