import type { LlamaShape } from "../../families/dimensions.ts";
import type { ReadWeights } from "../../modelFiles/weights.ts";
import { type Arena, allocate, planArena } from "../kernels/arena.ts";
import type { KernelModule } from "../kernels/module.ts";
import { type Program, lead, planTeam } from "../kernels/team.ts";
import { batchArrays } from "../model/batch.ts";
import { createPasses } from "../model/passes.ts";
import { placeModel } from "../model/place.ts";
import { writeTensors } from "../model/tensors.ts";

/** Reads tokens one after another, remembering keys and values. */
export interface Reading {
  /**
   * Reads more tokens; answers the logits [vocabulary] after the last of them.
   * Together they must fit the context.
   */
  read: (tokens: ArrayLike<number>) => Float32Array;
}

/** Starts a reading, which ends the one before: they share their memory. */
export type Decoder = () => Reading;

export interface DecoderWeights {
  /** Names of the tensors stored as bfloat16; they stay so. */
  bfloat16?: ReadonlySet<string>;
  /** Called once it is known that they fit. */
  read: ReadWeights;
}

/** Tokens of a prompt that one step reads; answers are read token by token. */
const PROMPT_CHUNK = 64;

const ADVICE = "Use a smaller model, or one with a shorter context";

/**
 * @throws KitError `OUT_OF_MEMORY` for what does not fit
 */
export function createDecoder(
  module: KernelModule,
  shape: LlamaShape,
  { bfloat16, read }: DecoderWeights,
): Decoder {
  const { arena, team, model } = planDecoder(shape, bfloat16);
  const memory = allocate(arena);
  writeTensors(memory, model.tensors.frozen, read);
  for (const { at, values } of model.constants) {
    const numbers = values();
    new Float32Array(memory.buffer, at, numbers.length).set(numbers);
  }
  const batch = batchArrays(memory, model.batch, model.limits);
  const logits = new Float32Array(memory.buffer, model.logits, model.vocabulary);
  const program: Program = (thread) => {
    const { forward, head } = createPasses(thread, model);
    return [
      () => {
        forward();
        head.forward();
        thread.kernels.barrier();
      },
    ];
  };
  const run = lead(team, module, memory, program);

  return function start() {
    let position = 0;
    function read(tokens: ArrayLike<number>) {
      for (let from = 0; from < tokens.length; from += PROMPT_CHUNK) {
        const count = Math.min(tokens.length - from, PROMPT_CHUNK);
        for (let i = 0; i < count; i++) {
          batch.tokens[i] = tokens[from + i] ?? 0;
          batch.positions[i] = position + i;
        }
        batch.selected[0] = count - 1;
        batch.counts.set([count, 1, 1]);
        run(0);
        position += count;
      }
      return logits.slice();
    }
    return { read };
  };
}

/** The memory of a decoder. Exported for the tests, which write guard words between its arrays. */
export function planDecoder(shape: LlamaShape, bfloat16?: ReadonlySet<string>) {
  const place = (arena: Arena) => ({
    team: planTeam(arena, 1),
    model: placeModel(arena, shape, {
      ...{ bfloat16, isTrained: false, threads: 1, keptKeys: shape.context },
      limits: {
        ...{ tokens: PROMPT_CHUNK, sequences: 1, selected: 1 },
        ...{ longest: shape.context, squares: 0 },
      },
      recompute: { cheap: false, parts: 0 },
    }),
  });
  return planArena(place, ADVICE);
}
