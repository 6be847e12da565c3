import { MessageChannel, Worker } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { allowedBits } from "../../../../engines/answers/allowedBits.ts";
import { adapterBytes } from "../../../../engines/embedded/infer/adapters.ts";
import type * as decoding from "../../../../engines/embedded/infer/decoder.ts";
import { MAX_TOKENS, planDecoder } from "../../../../engines/embedded/infer/decoderPlan.ts";
import type * as modules from "../../../../engines/embedded/kernels/module.ts";
import { type Dimensions, dimensionsOf } from "../../../../engines/families/dimensions.ts";
import { type Projection, PROJECTIONS } from "../../../../engines/families/projections.ts";
import { randomAdapter } from "../../../../engines/lora/adapter.ts";
import { merged, readUpdates, updatesOf } from "../../../../engines/lora/updates.ts";
import { inMemoryTensors } from "../../../../engines/modelFiles/tensors.ts";
import type { StoredWeights } from "../../../../engines/modelFiles/weights.ts";
import { PATIENCE_MS } from "../../../patience.ts";
import { builtModule } from "../built.ts";
import { difference, numbers } from "../kernels/team.ts";
import { readingBy } from "../learner.ts";
import { FAMILIES, TINY, tinyTokens, tinyWeights, toBfloat16 } from "../tiny.ts";

const { createDecoder } = await builtModule<typeof decoding>("infer/decoder.js");
const { compileKernels } = await builtModule<typeof modules>("kernels/module.js");

const WORKER = new URL("../../../../dist/engines/embedded/infer/decoderWorker.js", import.meta.url);
/** Where a team counts its ready helpers, among its words. */
const READY = 16;
const module = compileKernels();

/** Columns in whole blocks, so that its matrices can be quantized. */
const BLOCKS = dimensionsOf({
  layers: 2,
  heads: 6,
  kvHeads: 2,
  headDim: 32,
  width: 64,
  intermediateSize: 96,
  context: 400,
});

type Kind = "float32" | "bfloat16" | "q8_0" | "q4_0";
const KINDS: Kind[] = ["float32", "bfloat16", "q8_0", "q4_0"];

function stored(shape: Dimensions, kind: Kind): StoredWeights {
  const weights = tinyWeights(1, shape);
  return kind === "float32" ? weights : toBfloat16(weights);
}

/** On so many threads, once all have come. */
async function decoderOf(shape: Dimensions, kind: Kind, options: decoding.DecoderOptions = {}) {
  const weights = stored(shape, kind);
  const { threads = 1 } = options;
  const quantize = kind === "q8_0" || kind === "q4_0" ? kind : undefined;
  const helpers: Worker[] = [];
  onTestFinished(async () => {
    await Promise.all(helpers.map((helper) => helper.terminate()));
  });
  let init: decoding.DecoderWorkerInit | undefined;
  const decoder = createDecoder(module, shape, inMemoryTensors(weights), {
    quantize,
    ...options,
    initWorkers: (found) => (init = found),
  });
  for (let i = 1; i < threads; i++) {
    const helper = new Worker(WORKER, { execArgv: [] });
    const { port1, port2 } = new MessageChannel();
    helper.postMessage(port2, [port2]);
    port1.postMessage(init);
    helpers.push(helper);
  }
  if (!init) throw new Error("nobody was invited");
  const { team } = planDecoder(init.sizes);
  const words = new Int32Array(init.memory.buffer, team.words);
  const here = () => expect(Atomics.load(words, READY)).toBe(threads - 1);
  await vi.waitFor(here, { timeout: PATIENCE_MS, interval: 5 });
  return decoder;
}

/** A shape of {@link BLOCKS} with a KV cache of 128 MiB. */
const LONG = { ...BLOCKS, context: 4096 };

/** The logits after each sequence's last token, each read alone, token by token. */
async function alone(shape: Dimensions, kind: Kind, sequences: readonly number[][]) {
  const decoder = await decoderOf(shape, kind);
  return sequences.map((tokens) => {
    const { read } = readingBy(decoder);
    let logits: Float32Array = new Float32Array();
    for (const token of tokens) logits = read([token]);
    return logits;
  });
}

/** All at once: each step reads so many tokens of each, a different number of every one. */
function together(
  decoder: decoding.Decoder,
  states: readonly { tokens: readonly number[]; sequence: decoding.Sequence }[],
) {
  const last = states.map(() => new Float32Array());
  for (let step = 1; ; step++) {
    const parts = states.flatMap(({ tokens, sequence }, i) => {
      const from = sequence.length();
      const some = tokens.slice(from, from + 1 + ((i + step) % 5) * 7);
      if (some.length === 0) return [];
      expect(sequence.grow(some.length)).toBe(true);
      return [
        {
          i,
          part: { sequence, tokens: some, wanted: from + some.length === tokens.length ? 1 : 0 },
        },
      ];
    });
    if (parts.length === 0) return last;
    decoder.step(parts.map(({ part }) => part)).forEach(([next], at) => {
      if (next) last[parts[at]!.i] = next.logits.slice();
    });
  }
}

/** They, of the model itself. */
function togetherAll(decoder: decoding.Decoder, sequences: readonly number[][]) {
  return together(
    decoder,
    sequences.map((tokens) => ({ tokens, sequence: decoder.begin(tokens) })),
  );
}

const LENGTHS = [1, 2, 5, 16, 17, 33, 47];
const sequencesOf = (count: number) =>
  LENGTHS.slice(0, count).map((length, i) => [...tinyTokens(length, i + 1)]);

const CASES: [string, Dimensions, Kind][] = [
  ...KINDS.map((kind) => [`blocks, ${kind}`, BLOCKS, kind] as [string, Dimensions, Kind]),
  ["Kit's", TINY, "float32"],
  ...Object.entries(FAMILIES).map(
    ([name, shape]) => [name, shape, "bfloat16"] as [string, Dimensions, Kind],
  ),
];

test.each(CASES)(
  "logits are the same to the bit alone and among others, on 1 and 3 threads: %s",
  async (_, shape, kind) => {
    const sequences = sequencesOf(7);
    const wanted = await alone(shape, kind, sequences);
    for (const threads of [1, 3]) {
      const found = togetherAll(await decoderOf(shape, kind, { threads }), sequences);
      found.forEach((logits, i) => expect(logits, `${threads} threads, ${i}`).toEqual(wanted[i]));
    }
  },
);

test("a prompt that is read in one step has the logits of one that is read token by token", async () => {
  for (const kind of KINDS) {
    const tokens = [...tinyTokens(MAX_TOKENS + 30)];
    const [wanted] = await alone(BLOCKS, kind, [tokens]);
    expect(readingBy(await decoderOf(BLOCKS, kind)).read(tokens), kind).toEqual(wanted);
  }
});

test("a sequence that takes the pages of another has the logits of one that reads all", async () => {
  for (const kind of KINDS) {
    const first = [...tinyTokens(70)];
    const second = [...first.slice(0, 50), 1, 2, 3];
    const [wanted] = await alone(BLOCKS, kind, [second]);
    const decoder = await decoderOf(BLOCKS, kind);
    togetherAll(decoder, [first]);
    const sequence = decoder.begin(second);
    expect(sequence.length()).toBe(48);
    const rest = second.slice(48);
    expect(sequence.grow(rest.length)).toBe(true);
    const [[next] = []] = decoder.step([{ sequence, tokens: rest, wanted: 1 }]);
    expect(next?.logits, kind).toEqual(wanted);
  }
});

test("only tokens that an answer may have are the likeliest or have a weight", async () => {
  const isAllowed = (id: number) => id % 7 === 3;
  const allowed = allowedBits(264, isAllowed);
  const sequences = sequencesOf(3);
  const own = await alone(BLOCKS, "bfloat16", sequences);
  const decoder = await decoderOf(BLOCKS, "bfloat16", { allowed: () => allowed });
  const parts = sequences.map((tokens) => {
    const sequence = decoder.begin(tokens);
    expect(sequence.grow(tokens.length)).toBe(true);
    return { sequence, tokens, wanted: 1 };
  });
  decoder.step(parts).forEach(([next], i) => {
    const masked = own[i]!.map((logit, id) => (isAllowed(id) ? logit : -Infinity));
    const highest = Math.max(...masked);
    expect(next).toMatchObject({ argmax: masked.indexOf(highest), isDegenerate: false });
    expect(next?.logits).toEqual(own[i]);
    const total = Math.log(own[i]!.reduce((sum, logit) => sum + Math.exp(logit), 0));
    expect(next?.logSumExp()).toBeCloseTo(total, 5);
    const weights = masked.map((logit) => Math.exp((logit - highest) / 2));
    expect(difference(next?.weights(2).byToken ?? [], weights)).toBeLessThan(1e-5);
  });
});

test.each([
  ["q8_0", 0.02],
  ["q4_0", 0.2],
] as const)("%s changes the logits a little", async (kind, share) => {
  const tokens = [...tinyTokens(40)];
  const [exact = []] = await alone(BLOCKS, "bfloat16", [tokens]);
  const [found = []] = await alone(BLOCKS, kind, [tokens]);
  expect(difference(found, exact)).toBeGreaterThan(0);
  expect(difference(found, exact)).toBeLessThan(share * Math.max(...exact.map(Math.abs)));
});

/** An adapter of all maps of these projections, whose B is no longer 0. */
function updates(shape: Dimensions, seed: number, r: number, targetModules: Projection[]) {
  const lora = { r, alpha: 2 * r, targetModules };
  const adapter = randomAdapter(lora, shape, seed);
  for (const [name, { data }] of Object.entries(adapter)) {
    if (name.endsWith("lora_B.weight")) data.set(numbers(data.length, seed), 0);
  }
  return readUpdates(updatesOf(inMemoryTensors(adapter), lora));
}

/** Every adapter of them and none, of different ranks and maps. */
function adaptersOf(shape: Dimensions) {
  return [
    undefined,
    updates(shape, 1, 8, ["q_proj", "v_proj"]),
    updates(shape, 2, 3, [...PROJECTIONS]),
    updates(shape, 3, 17, ["k_proj", "o_proj", "down_proj"]),
  ];
}

test.each(KINDS)(
  "answers of several adapters and of their base in one step are those of each alone, to the bit: %s",
  async (kind) => {
    const tokens = sequencesOf(7);
    const all = adaptersOf(BLOCKS);
    const asked = tokens.map((tokens, i) => ({ tokens, updates: all[(i * 3) % all.length] }));
    const added = (decoder: decoding.Decoder, updates: (typeof all)[number]) => {
      if (!updates) return undefined;
      const adapter = decoder.adapters.add(updates);
      if (!adapter) throw new Error("there is no room");
      return adapter;
    };
    const wanted = [];
    for (const { tokens, updates } of asked) {
      const decoder = await decoderOf(BLOCKS, kind);
      const sequence = decoder.begin(tokens, added(decoder, updates));
      wanted.push(together(decoder, [{ tokens, sequence }])[0]);
    }
    for (const threads of [1, 3]) {
      const decoder = await decoderOf(BLOCKS, kind, { threads });
      const adapters = new Map(all.map((updates) => [updates, added(decoder, updates)]));
      const found = together(
        decoder,
        asked.map(({ tokens, updates }) => ({
          tokens,
          sequence: decoder.begin(tokens, adapters.get(updates)),
        })),
      );
      expect(found, `${threads} threads`).toEqual(wanted);
    }
  },
);

test("an adapter's answers are those of a model that it is merged into", () => {
  const tokens = [...tinyTokens(40)];
  const weights = inMemoryTensors(tinyWeights(1, BLOCKS));
  for (const own of adaptersOf(BLOCKS).slice(1)) {
    const updates = new Map(Object.entries(own!).map(([name, update]) => [name, () => update]));
    const decoder = createDecoder(module, BLOCKS, weights);
    const sequence = decoder.begin(tokens, decoder.adapters.add(own!));
    const [found] = together(decoder, [{ tokens, sequence }]);
    const sum = createDecoder(module, BLOCKS, merged(weights, updates, "the base"));
    const wanted = readingBy(sum).read(tokens);
    expect(difference(found!, wanted)).toBeLessThan(1e-4);
    expect(difference(readingBy(decoder).read(tokens), wanted)).toBeGreaterThan(0.01);
  }
});

test("an adapter takes no pages that another read, not even one in whose place it is", async () => {
  const [, first, second] = adaptersOf(BLOCKS);
  const tokens = [...tinyTokens(70)];
  const read = (decoder: decoding.Decoder, updates: typeof first) => {
    const adapter = decoder.adapters.add(updates!)!;
    const sequence = decoder.begin(tokens, adapter);
    expect(sequence.length()).toBe(0);
    const [logits] = together(decoder, [{ tokens, sequence }]);
    sequence.close();
    expect(decoder.begin(tokens, adapter).length()).toBe(64);
    decoder.adapters.remove(adapter);
    return logits;
  };
  const wanted = read(await decoderOf(BLOCKS, "bfloat16"), second);
  const decoder = await decoderOf(BLOCKS, "bfloat16");
  read(decoder, first);
  expect(read(decoder, second)).toEqual(wanted);
});

test("there is room for adapters as long as they fit, and for others once they are gone", async () => {
  const [, , own] = adaptersOf(BLOCKS);
  const bytes = 3 * (adapterBytes(own!) + 64);
  const { adapters } = await decoderOf(BLOCKS, "float32", { adapterBytes: bytes });
  const added = [1, 2, 3].map(() => adapters.add(own!)!);
  expect(added.map(({ slot }) => slot)).toEqual([1, 2, 3]);
  expect(adapters.add(own!)).toBeUndefined();
  adapters.remove(added[1]!);
  expect(adapters.add(own!)).toMatchObject({ slot: 2, id: 4 });
  expect(adapters.add(updates(BLOCKS, 1, 257, ["q_proj"]))).toBeUndefined();
});

test("the KV cache takes memory as it is used, on all threads, until the system has no more", async () => {
  const grow = vi.spyOn(WebAssembly.Memory.prototype, "grow");
  onTestFinished(() => grow.mockRestore());
  const tokens = [...tinyTokens(40)];
  const [expected] = await alone(LONG, "float32", [tokens]);
  grow.mockClear();
  const decoder = await decoderOf(LONG, "float32", { threads: 3 });
  expect(grow).not.toHaveBeenCalled();
  const fill = () => decoder.begin([]).grow(LONG.context);
  for (let n = 0; n < 9; n++) expect(fill()).toBe(true);
  expect(grow).toHaveBeenCalledTimes(2);
  expect(together(decoder, [{ tokens, sequence: decoder.begin(tokens) }])).toEqual([expected]);
  grow.mockImplementation(() => {
    throw new RangeError("no memory");
  });
  const fillAll = () => Array.from({ length: 32 }, fill);
  expect(fillAll).toThrow(expect.objectContaining({ code: "OUT_OF_MEMORY" }));
});
