import { openCheckpoint } from "../../../engines/checkpoint/checkpoint.ts";
import type * as infer from "../../../engines/embedded/infer/fittedDecoder.ts";
import type * as kernels from "../../../engines/embedded/kernels/module.ts";
import { builtModule } from "../embedded/built.ts";

const { compileKernels } = await builtModule<typeof kernels>("kernels/module.js");
const { createFittedDecoder } = await builtModule<typeof infer>("infer/fittedDecoder.js");

/** Kit's logits after each token of a sequence, [token][id]. @param path of a checkpoint or a GGUF file */
export function kitLogits(path: string, tokens: readonly number[]): number[][] {
  const { shape, weights } = openCheckpoint(path);
  const { decoder } = createFittedDecoder(compileKernels(), shape, weights, {});
  const sequence = decoder.begin([]);
  return tokens.map((token) => {
    sequence.grow(1);
    const [after] = decoder.step([{ sequence, tokens: [token], wanted: 1 }]);
    return [...after![0]!.logits];
  });
}

/** The token of the greatest logit, and how far it is ahead. */
export function likeliest(logits: readonly number[]): { token: number; ahead: number } {
  const order = logits.map((_, token) => token).toSorted((a, b) => logits[b]! - logits[a]!);
  const [first = 0, second = 0] = order;
  return { token: first, ahead: logits[first]! - logits[second]! };
}
