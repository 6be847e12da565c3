import { EMBEDDING, HEAD } from "../families/projections.ts";
import { hasNumbers, useSafetensors } from "../modelFiles/safetensors.ts";
import type { PlacedEntry } from "../modelFiles/tensorFiles.ts";

/** Numbers that are compared at a time. */
const PART_NUMBERS = 2 ** 20;

/**
 * Whether a model that its config ties has a head of its own nevertheless, as `transformers` 5 decides: the files
 * have both, and they differ.
 */
export function hasOwnHead(find: (name: string) => PlacedEntry | undefined): boolean {
  const [head, embedding] = [find(HEAD), find(EMBEDDING)];
  return head !== undefined && embedding !== undefined && !areSame(head, embedding);
}

function areSame(a: PlacedEntry, b: PlacedEntry): boolean {
  const { entry: ofA } = a;
  const { entry: ofB } = b;
  if (!hasNumbers(ofA) || !hasNumbers(ofB) || ofA.shape.join() !== ofB.shape.join()) return false;
  const count = ofA.shape.reduce((product, size) => product * size, 1);
  return useSafetensors(a.path, (fileA) =>
    useSafetensors(b.path, (fileB) => {
      for (let at = 0; at < count; at += PART_NUMBERS) {
        const numbers = Math.min(PART_NUMBERS, count - at);
        const partA = fileA.part(HEAD, ofA, at, numbers);
        const partB = fileB.part(EMBEDDING, ofB, at, numbers);
        for (let i = 0; i < numbers; i++) if (partA[i] !== partB[i]) return false;
      }
      return true;
    }),
  );
}
