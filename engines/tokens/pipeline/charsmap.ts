import type { Normalize } from "./normalizer.ts";

/** Longer clusters are replaced character by character. */
const LONGEST_CLUSTER_BYTES = 5;

/**
 * Sentencepiece's replacements of characters: a trie in two arrays (Darts), as 32-bit numbers after
 * its size in bytes, and the texts, each up to a zero.
 * @param encoded the map in base 64
 */
export function createCharsmap(encoded: string): Normalize {
  const bytes = Buffer.from(encoded, "base64");
  const size = bytes.length < 4 ? 0 : bytes.readUInt32LE(0);
  if (size === 0 || size % 4 !== 0 || 4 + size > bytes.length) {
    throw new Error('its "precompiled_charsmap" is damaged');
  }
  const units = Uint32Array.from({ length: size / 4 }, (_, i) => bytes.readUInt32LE(4 + 4 * i));
  const texts = bytes.subarray(4 + size);
  const clusters = new Intl.Segmenter("en", { granularity: "grapheme" });

  /** Where the text that replaces a part lies: that of the shortest beginning which has one. */
  function placeOf(part: Uint8Array): number | undefined {
    let place = offsetOf(units[0] ?? 0);
    for (const byte of part) {
      if (byte === 0) return undefined;
      place ^= byte;
      const unit = units[place] ?? 0;
      if ((unit & 0x800000ff) >>> 0 !== byte) return undefined;
      place ^= offsetOf(unit);
      if (((unit >>> 8) & 1) === 1) return (units[place] ?? 0) & 0x7fffffff;
    }
    return undefined;
  }

  function replaced(part: string): string | undefined {
    const place = placeOf(Buffer.from(part));
    if (place === undefined) return undefined;
    const end = texts.indexOf(0, place);
    return texts.subarray(place, end < 0 ? undefined : end).toString();
  }

  function clusterText(cluster: string): string {
    const isShort = Buffer.byteLength(cluster) <= LONGEST_CLUSTER_BYTES;
    const whole = isShort ? replaced(cluster) : undefined;
    return whole ?? Array.from(cluster, (character) => replaced(character) ?? character).join("");
  }

  return (text) =>
    Array.from(clusters.segment(text), ({ segment }) => clusterText(segment)).join("");
}

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}
