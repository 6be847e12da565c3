import { KitError } from "../../protocol/error.ts";
import { isNumberType } from "./numberTypes.ts";
import { LEAST_NUMBER_BYTES, openSafetensors } from "./safetensors.ts";
import { type FileTensor, type TensorSource, fileTensors, otherType } from "./tensors.ts";
import { type WeightCounts, countOf } from "./weights.ts";

/** A tensor's name, type, dimensions and place, as short as they can be written. */
const LEAST_ENTRY_BYTES = 50;

/**
 * Lists the tensors of safetensors files, by their names.
 * @param counts how many there are at least
 * @param label the file that names them all, for errors
 * @throws KitError `CHECKPOINT_INVALID` when a file is missing or damaged, or they cannot hold so many
 */
export function listTensors(
  paths: readonly string[],
  { tensors, numbers }: WeightCounts,
  label = paths[0],
): Map<string, FileTensor> {
  const files = paths.map((path) => openSafetensors(path, tensors));
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  const bytes = sum(files.map(({ size }) => size));
  const found = new Map(files.flatMap((file) => [...file.tensors]));
  const isShort = tensors * LEAST_ENTRY_BYTES > sum(files.map(({ start }) => start));
  if (!isShort && numbers * LEAST_NUMBER_BYTES <= bytes) return found;
  // One that is small because its numbers are.
  const other = [...found].find(([, { shape, type }]) => shape.length > 1 && !isNumberType(type));
  if (!isShort && other) throw otherType(`${label}`, other[0], other[1].type);
  throw invalid(
    label,
    `: its config claims ${tensors} tensors of ${numbers} numbers, and it has ${bytes} bytes`,
  );
}

/** Under the names that a model has for those that are stored so. */
export function renamed<T>(
  tensors: ReadonlyMap<string, T>,
  nameOf: (stored: string) => string,
): Map<string, T> {
  return new Map([...tensors].map(([name, tensor]) => [nameOf(name), tensor]));
}

/**
 * Those of these names and dimensions.
 * @throws KitError `CHECKPOINT_INVALID` when one is missing, has others or is of a type that is not read
 */
export function chooseTensors(
  found: ReadonlyMap<string, FileTensor>,
  shapes: Record<string, number[]>,
  label: string,
): TensorSource {
  const chosen = Object.entries(shapes).map(([name, shape]): [string, FileTensor] => {
    const tensor = found.get(name);
    const expected = shape.join(" × ");
    if (!tensor) throw invalid(label, `: ${name} is missing (expected ${expected})`);
    const dimensions = tensor.shape.join(" × ");
    if (dimensions !== expected)
      throw invalid(label, `: ${name} is ${dimensions}, not ${expected}`);
    if (!isNumberType(tensor.type)) throw otherType(label, name, tensor.type);
    return [name, tensor];
  });
  return fileTensors(new Map(chosen));
}

/** Opens the tensors of these dimensions in a file. @throws KitError `CHECKPOINT_INVALID` */
export function openTensors(path: string, shapes: Record<string, number[]>): TensorSource {
  return chooseTensors(listTensors([path], countOf(shapes)), shapes, path);
}

function invalid(label: string | undefined, problem: string): KitError {
  return new KitError("CHECKPOINT_INVALID", `${label}${problem}. Save or download it again.`);
}
