import { defaultDevice, init } from "@jax-js/jax";

/** Makes jax compute in WebAssembly; before anything else that computes. */
export async function startBackend(): Promise<void> {
  await init("wasm");
  defaultDevice("wasm");
}
