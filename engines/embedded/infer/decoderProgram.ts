import type { Program } from "../kernels/team.ts";
import { createPasses } from "../model/passes.ts";
import type { DecoderPlan } from "./decoderPlan.ts";

/** The program of every inference thread: a step from tokens to logits. */
export function decoderProgram({ model, argmax }: DecoderPlan): Program {
  return (thread) => {
    const { kernels } = thread;
    const { forward, head } = createPasses(thread, model);
    const { logits, vocabulary, batch } = model;
    const counts = new Int32Array(thread.memory.buffer, batch.counts, 3);
    return [
      () => {
        forward();
        head.forward();
        kernels.barrier();
        const { allowed, found } = argmax;
        kernels.argmax(counts[2] ?? 0, vocabulary, logits.row, logits.at, allowed, found);
        kernels.barrier();
      },
    ];
  };
}
