import { KitError } from "../../protocol/error.ts";
import { type FileTensor, fileTensors } from "./fileTensors.ts";
import { isDtype } from "./numberTypes.ts";
import { MIN_ELEMENT_BYTES, openSafetensors } from "./safetensors.ts";
import { type TensorSource, unsupportedType } from "./tensors.ts";
import { type WeightCounts, countOf } from "./weights.ts";

/** The shortest header entry of a tensor. */
const MIN_ENTRY_BYTES = 50;

/**
 * Lists the tensors of safetensors files, by name.
 * @param counts minimum numbers of tensors and elements, as the config implies
 * @param label the file that lists them, for errors
 * @throws KitError `CHECKPOINT_INVALID` if a file is missing, damaged or too small
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
  const isShort = tensors * MIN_ENTRY_BYTES > sum(files.map(({ start }) => start));
  if (!isShort && numbers * MIN_ELEMENT_BYTES <= bytes) return found;
  // A narrower type may be the reason.
  const narrow = [...found].find(([, { shape, type }]) => shape.length > 1 && !isDtype(type));
  if (!isShort && narrow) throw unsupportedType(`${label}`, narrow[0], narrow[1].type);
  throw invalid(
    label,
    `: its config describes ${tensors} tensors of ${numbers} numbers, too many for ${bytes} bytes`,
  );
}

/** Tensors by the model's names instead of the stored ones. */
export function renamed<T>(
  tensors: ReadonlyMap<string, T>,
  nameOf: (stored: string) => string,
): Map<string, T> {
  return new Map([...tensors].map(([name, tensor]) => [nameOf(name), tensor]));
}

/**
 * The tensors with these names and shapes.
 * @throws KitError `CHECKPOINT_INVALID` if one is missing, or has another shape or an unsupported type
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
    if (!isDtype(tensor.type)) throw unsupportedType(label, name, tensor.type);
    return [name, tensor];
  });
  return fileTensors(new Map(chosen));
}

/** Opens the tensors with these shapes in a file. @throws KitError `CHECKPOINT_INVALID` */
export function openTensors(path: string, shapes: Record<string, number[]>): TensorSource {
  return chooseTensors(listTensors([path], countOf(shapes)), shapes, path);
}

function invalid(label: string | undefined, problem: string): KitError {
  return new KitError("CHECKPOINT_INVALID", `${label}${problem}. Save or download it again.`);
}
