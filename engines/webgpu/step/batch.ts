import type { Sequence } from "../../examples/examples.ts";
import { inputLength } from "../../training/microBatches.ts";
import type { Device } from "../device/device.ts";
import { type BatchPlan, NOT_SELECTED } from "../ops/operation.ts";

/** Writes sequences one after another, without padding. @returns the number of learned tokens */
export function writeBatch(
  device: Device,
  plan: BatchPlan,
  sequences: readonly Sequence[],
): number {
  const count = sequences.reduce((sum, sequence) => sum + inputLength(sequence), 0);
  const ofTokens = () => new Uint32Array(count);
  const [tokens, positions, starts, ends] = [ofTokens(), ofTokens(), ofTokens(), ofTokens()];
  const selectedIndex = ofTokens().fill(NOT_SELECTED);
  const selected: number[] = [];
  const targets: number[] = [];
  let from = 0;
  for (const sequence of sequences) {
    const length = inputLength(sequence);
    tokens.set(sequence.tokens.subarray(0, length), from);
    starts.fill(from, from, from + length);
    ends.fill(from + length, from, from + length);
    for (let position = 0; position < length; position++) {
      positions[from + position] = position;
      if (sequence.learned[position + 1] !== 1) continue;
      selectedIndex[from + position] = selected.length;
      selected.push(from + position);
      targets.push(sequence.tokens[position + 1] ?? 0);
    }
    from += length;
  }
  const { order, groups } = grouped(tokens);
  const arrays = { tokens, positions, starts, ends, selectedIndex, order, groups };
  const words = { selected: Uint32Array.from(selected), targets: Uint32Array.from(targets) };
  for (const [name, data] of Object.entries({ ...arrays, ...words }))
    device.write(plan[name as keyof BatchPlan], 0, data);
  device.setBatch({ tokens: count, selected: selected.length, distinct: groups.length - 1 });
  return selected.length;
}

/** Indices of tokens with equal ones adjacent, and where each group begins. */
function grouped(tokens: Uint32Array): { order: Uint32Array; groups: Uint32Array } {
  const order = Uint32Array.from(tokens.keys()).sort((a, b) => tokens[a]! - tokens[b]! || a - b);
  const begins = Array.from(order.keys()).filter(
    (i) => i === 0 || tokens[order[i]!] !== tokens[order[i - 1]!],
  );
  return { order, groups: Uint32Array.from([...begins, order.length]) };
}
