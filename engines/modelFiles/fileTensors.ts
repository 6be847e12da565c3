import { KitError } from "../../protocol/error.ts";
import { hasFiniteScales } from "./blocks/blockType.ts";
import { BLOCK_TYPES, NUMBER_TYPES, isBlockType, isDtype } from "./numberTypes.ts";
import { readFully, useFile } from "./regularFile.ts";
import {
  type ReadBuffer,
  type TensorInfo,
  type TensorSource,
  bytesIn,
  entryOf,
  rowsOf,
  unsupportedType,
} from "./tensors.ts";
import { type Numbers, areFinite } from "./weights.ts";

export interface FileTensor extends TensorInfo {
  path: string;
  /** Offset in the file. */
  offset: number;
  bytes: number;
}

/** A source of tensors in files. @param advice what to do about a damaged file */
export function fileTensors(
  tensors: ReadonlyMap<string, FileTensor>,
  advice = "Save or download it again",
): Required<TensorSource> {
  const invalid = (name: string, problem: string) => {
    const { path } = entryOf(tensors, name);
    return new KitError("CHECKPOINT_INVALID", `${path} ${problem} ${name}. ${advice}.`);
  };

  function bytesOf(
    name: string,
    from: number,
    to: number,
    buffer?: ReadBuffer,
  ): Uint8Array<ArrayBuffer> {
    const { path, shape, offset, bytes } = entryOf(tensors, name);
    const rowBytes = bytes / rowsOf(shape);
    const read = bytesIn(buffer, (to - from) * rowBytes);
    const isWhole = useFile(path, ({ file }) => readFully(file, read, offset + from * rowBytes));
    if (!isWhole) throw invalid(name, "is truncated at");
    return read;
  }

  function rows(name: string, from: number, to: number, buffer?: ReadBuffer): Numbers {
    const { path, type } = entryOf(tensors, name);
    if (!isDtype(type)) throw unsupportedType(path, name, type);
    const numbers = NUMBER_TYPES[type].decode(bytesOf(name, from, to, buffer));
    if (!areFinite(numbers)) throw invalid(name, "has non-finite numbers in");
    return numbers;
  }

  function blocks(name: string, from: number, to: number, buffer?: ReadBuffer): Uint8Array {
    const { type } = entryOf(tensors, name);
    const read = bytesOf(name, from, to, buffer);
    if (isBlockType(type) && hasFiniteScales(BLOCK_TYPES[type], read)) return read;
    throw invalid(name, "has non-finite numbers in");
  }
  return { tensors, rows, blocks };
}
