import { execFile } from "node:child_process";
import { readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { openCheckpoint, saveModel } from "../../../engines/checkpoint/checkpoint.ts";
import { exportModel } from "../../../engines/export/exportModel.ts";
import { dimensionsOf } from "../../../engines/families/dimensions.ts";
import { encodeHeader } from "../../../engines/gguf/header.ts";
import { type Metadata, string, uint32 } from "../../../engines/gguf/metadata.ts";
import { readAll } from "../../../engines/modelFiles/tensors.ts";
import type { GgufType } from "../../../protocol/exportFormat.ts";
import { scratchDirectory, scratchFile } from "../embedded/scratch.ts";
import { tinyWeights } from "../embedded/tiny.ts";

const SIZES = { layers: 1, heads: 2, width: 32, context: 64 };

/** The path of a GGUF file of a small model. */
async function exported(shape = dimensionsOf(SIZES), type?: GgufType): Promise<string> {
  const folder = scratchDirectory();
  saveModel(join(folder, "model"), tinyWeights(1, shape), { shape, promptStyle: "message" });
  const options = { format: "gguf" as const, ...(type && { type }) };
  return (await exportModel(join(folder, "model"), join(folder, "to"), options)).path;
}

const uint64 = (value: bigint) => Buffer.from(BigUint64Array.of(value).buffer);
const words = (...values: number[]) => Buffer.from(Uint32Array.from(values).buffer);
const text = (value: string) => Buffer.concat([uint64(BigInt(value.length)), Buffer.from(value)]);
const start = (tensors: bigint, keys: bigint, version = 3) =>
  Buffer.concat([Buffer.from("GGUF"), words(version), uint64(tensors), uint64(keys)]);
const ROOM = Buffer.alloc(4096);
/** A tensor's entry. */
const tensor = (name: string, shape: bigint[], type: number, offset: bigint) =>
  Buffer.concat([
    text(name),
    words(shape.length),
    ...shape.map(uint64),
    words(type),
    uint64(offset),
  ]);
const HUGE = 2n ** 62n;

/** Headers that lie, and what Kit says of them. */
const LIES: Record<string, [Buffer, RegExp]> = {
  "an empty file": [Buffer.alloc(0), /is not a GGUF file/],
  "another format": [Buffer.from("PK\u0003\u0004 and more"), /is not a GGUF file/],
  "an old version": [Buffer.concat([start(0n, 0n, 1), ROOM]), /version 1, not 3/],
  "a big-endian file": [Buffer.concat([start(0n, 0n, 0x03000000), ROOM]), /version 50331648/],
  "more tensors than it has room for": [Buffer.concat([start(HUGE, 0n), ROOM]), /is truncated/],
  "more keys than it has room for": [
    Buffer.concat([start(0n, 2n ** 64n - 1n), ROOM]),
    /is truncated/,
  ],
  "a key that is longer than the file": [
    Buffer.concat([start(0n, 1n), uint64(HUGE), ROOM]),
    /is truncated/,
  ],
  "a key of 100 KB": [
    Buffer.concat([start(0n, 1n), uint64(100_000n), Buffer.alloc(200_000)]),
    /has a text of 100000 bytes/,
  ],
  "a value that is longer than the file": [
    Buffer.concat([start(0n, 1n), text("general.name"), words(8), uint64(HUGE), ROOM]),
    /is truncated/,
  ],
  "a value of no known type": [
    Buffer.concat([start(0n, 1n), text("general.name"), words(77), ROOM]),
    /unknown type 77/,
  ],
  "an array whose size overflows": [
    Buffer.concat([start(0n, 1n), text("a"), words(9, 10), uint64(2n ** 61n), ROOM]),
    /is truncated/,
  ],
  "an array of arrays": [
    Buffer.concat([start(0n, 1n), text("a"), words(9, 9), uint64(1n), ROOM]),
    /array of the unknown type 9/,
  ],
  "an array of texts that are longer than the file": [
    Buffer.concat([start(0n, 1n), text("a"), words(9, 8), uint64(2n), uint64(HUGE), ROOM]),
    /is truncated/,
  ],
  "a key twice": [
    Buffer.concat([start(0n, 2n), text("a"), words(4, 1), text("a"), words(4, 1), ROOM]),
    /has the key a twice/,
  ],
  "an alignment of 0": [aligned(0), /alignment that is not a power of two/],
  "an alignment of 3": [aligned(3), /alignment that is not a power of two/],
  "an alignment of 2 GiB": [aligned(2 ** 31), /alignment that is not a power of two/],
  "a tensor without dimensions": [
    Buffer.concat([start(1n, 0n), tensor("a", [], 0, 0n), ROOM]),
    /gives a 0 dimensions/,
  ],
  "a tensor of nine dimensions": [
    Buffer.concat([start(1n, 0n), tensor("a", Array<bigint>(9).fill(1n), 0, 0n), ROOM]),
    /gives a 9 dimensions/,
  ],
  "a tensor whose size overflows": [
    Buffer.concat([
      start(1n, 0n),
      tensor("a", [2n ** 12n, 2n ** 12n, 2n ** 12n, 2n ** 12n], 0, 0n),
      ROOM,
    ]),
    /gives a an impossible size/,
  ],
  "a tensor of no size": [
    Buffer.concat([start(1n, 0n), tensor("a", [0n], 0, 0n), ROOM]),
    /gives a an impossible size/,
  ],
  "rows that are no whole blocks": [
    Buffer.concat([start(1n, 0n), tensor("a", [33n, 2n], 8, 0n), ROOM]),
    /rows of a that are not whole blocks of q8_0/,
  ],
  "a type that Kit does not read": [
    Buffer.concat([start(1n, 0n), tensor("a", [256n, 2n], 10, 0n), ROOM]),
    /has a in ggml's type 10, and Kit reads f32, f16, bf16, q8_0, q4_0, q5_0, q4_k, q6_k\. Use a file/,
  ],
  "a tensor outside": [
    Buffer.concat([start(1n, 0n), tensor("a", [32n], 0, 2n ** 40n), ROOM]),
    /is truncated/,
  ],
  "a tensor that begins before another ends": [
    Buffer.concat([start(2n, 0n), tensor("a", [32n], 0, 0n), tensor("b", [32n], 0, 64n), ROOM]),
    /gap or an overlap at b/,
  ],
  "a tensor twice": [
    Buffer.concat([start(2n, 0n), tensor("a", [8n], 0, 0n), tensor("a", [8n], 0, 32n), ROOM]),
    /has the tensor a twice/,
  ],
  "more than its tensors": [
    Buffer.concat([start(1n, 0n), tensor("a", [8n], 0, 0n), ROOM]),
    /has data after its last tensor/,
  ],
  "a name that writes to the terminal": [
    Buffer.concat([start(1n, 0n), tensor("\u001b[2J", [], 0, 0n), ROOM]),
    /gives \\u001b\[2J 0 dimensions/,
  ],
};

function aligned(value: number): Buffer {
  return Buffer.concat([start(0n, 1n), text("general.alignment"), words(4, value), ROOM]);
}

test.each(Object.entries(LIES))("%s is refused in a sentence", (_, [bytes, sentence]) => {
  const path = scratchFile("model.gguf", bytes);
  expect(() => openCheckpoint(path)).toThrow(
    expect.objectContaining({
      code: "CHECKPOINT_INVALID",
      message: expect.stringMatching(sentence),
    }),
  );
});

describe("a file", () => {
  const written = (metadata: Metadata) =>
    scratchFile(
      "model.gguf",
      encodeHeader({ "general.architecture": string("llama"), ...metadata }, []),
    );

  test("of another program is refused, with the way to what it was made of", () => {
    const path = written({
      "general.source.url": string("https://huggingface.co/org/name"),
      "llama.block_count": uint32(1),
    });
    expect(() => openCheckpoint(path)).toThrow(
      `${path} was not written by Kit, and lacks the model's own tokenizer. Use the folder it was converted from, with config.json and safetensors: https://huggingface.co/org/name.`,
    );
  });

  test("of an adapter is refused, with the way to its base", () => {
    expect(() => openCheckpoint(written({ "general.type": string("adapter") }))).toThrow(
      "is an adapter without its base. Name the adapter's own folder, or export it with its base.",
    );
  });

  test("whose tensors are not those of its config is refused before it is read", async () => {
    const path = await exported();
    const bytes = readFileSync(path);
    const edit = (from: string, to: string) => {
      expect(from).toHaveLength(to.length);
      const at = bytes.lastIndexOf(from, bytes.indexOf("tokenizer.huggingface.json"));
      const copy = Buffer.from(bytes);
      copy.write(to, at < 0 ? bytes.indexOf(from) : at);
      return scratchFile("model.gguf", copy);
    };
    const layers = edit('"num_hidden_layers": 1,', '"num_hidden_layers":99,');
    expect(() => openCheckpoint(layers)).toThrow("does not contain the model that its config.json");
    const name = edit("blk.0.attn_q.weight", "blk.0.attn_x.weight");
    expect(() => openCheckpoint(name)).toThrow("model.layers.0.self_attn.q_proj.weight is missing");
  });

  test("that is cut off, or has a number that is not finite, is refused", async () => {
    const path = await exported();
    const bytes = readFileSync(path);
    bytes.writeFloatLE(NaN, bytes.length - 32);
    const odd = scratchFile("model.gguf", bytes);
    expect(() => readAll(openCheckpoint(odd).weights)).toThrow("has non-finite numbers in");
    truncateSync(path, bytes.length - 40);
    expect(() => openCheckpoint(path)).toThrow("is truncated at");
  });
});

/** 20,000 with `KIT_FUZZ=all`. */
const MUTATIONS = process.env["KIT_FUZZ"] === "all" ? 20_000 : 300;

describe.runIf(process.platform === "linux")("damaged anywhere", () => {
  let told: { opened: number; refused: number; others: string[]; grown: number };

  async function fuzz(path: string, ...words: string[]) {
    const program = fileURLToPath(new URL("fuzz.mjs", import.meta.url));
    const dist = fileURLToPath(new URL("../../../dist", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [program, dist, path, ...words]);
    return JSON.parse(stdout) as typeof told;
  }

  test("a file opens, or is refused in a sentence", async () => {
    told = await fuzz(await exported(undefined, "q8_0"), String(MUTATIONS), "read");
    expect(told.others).toEqual([]);
    expect(told.opened + told.refused).toBe(MUTATIONS);
    expect(told.refused).toBeGreaterThan(MUTATIONS / 4);
  });

  test("a file takes no more memory than half as much again as it is long", async () => {
    const path = await exported(dimensionsOf({ ...SIZES, width: 1024, layers: 3 }));
    told = await fuzz(path, "100");
    expect(told.others).toEqual([]);
    expect(told.grown).toBeLessThan(1.5 * readFileSync(path).length);
  });
});
