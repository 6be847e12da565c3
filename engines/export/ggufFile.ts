import { type NamedTensor, encodeHeader, tensorBytes } from "../gguf/header.ts";
import { padding } from "../gguf/tensorTypes.ts";
import type { Metadata } from "../gguf/values.ts";
import { assertLittleEndian } from "../modelFiles/byteOrder.ts";

export interface GgufContent {
  metadata: Metadata;
  tensors: readonly NamedTensor[];
  /** Each tensor's bytes, in their order; one's are made before the next is asked for. */
  contents: () => Iterable<Iterable<Uint8Array>>;
}

/** The bytes of a GGUF file. */
export function* ggufBlocks({ metadata, tensors, contents }: GgufContent): Iterable<Uint8Array> {
  assertLittleEndian();
  yield encodeHeader(metadata, tensors);
  let count = 0;
  for (const blocks of contents()) {
    const tensor = tensors[count++];
    let bytes = 0;
    for (const block of blocks) {
      bytes += block.length;
      yield block;
    }
    if (!tensor || bytes !== tensorBytes(tensor)) {
      throw new Error(`${tensor?.name ?? "no tensor"} has ${bytes} bytes`);
    }
    yield new Uint8Array(padding(bytes));
  }
  if (count < tensors.length) throw new Error(`${tensors[count]?.name} has no bytes`);
}
