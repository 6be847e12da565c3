import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readEvents } from "../../sdk/project.ts";

/** Values of each tag, by step. */
export type Curves = Record<string, [step: number, value: number][]>;

/** Of a log's values. */
const TAGS = {
  loss: "train/loss",
  evalLoss: "eval/loss",
  learningRate: "train/learning_rate",
  gradNorm: "train/grad_norm",
  epoch: "train/epoch",
  tokensPerSecond: "train/tokens_per_second",
};

/** Reads a folder's only event file as TensorBoard does, which tests/trackers holds: field numbers are those of its *.proto. */
export function readCurves(directory: string): { curves: Curves; texts: Record<string, string> } {
  const [name, ...others] = readdirSync(directory);
  if (!name?.startsWith("events.out.tfevents.") || others.length > 0) throw new Error(name);
  const curves: Curves = {};
  const texts: Record<string, string> = {};
  for (const record of recordsOf(readFileSync(join(directory, name)))) {
    const event = fieldsOf(record);
    const step = Number(event.get(2)?.[0] ?? 0);
    for (const value of fieldsOf(bufferOf(event.get(5)?.[0])).get(1) ?? []) {
      const fields = fieldsOf(bufferOf(value));
      const tag = String(fields.get(1)?.[0]);
      const [simple] = fields.get(2) ?? [];
      if (simple) (curves[tag] ??= []).push([step, bufferOf(simple).readFloatLE()]);
      else texts[tag] = String(fieldsOf(bufferOf(fields.get(8)?.[0])).get(8)?.[0]);
    }
  }
  return { curves, texts };
}

function* recordsOf(file: Buffer): Generator<Buffer> {
  for (let at = 0; at < file.length;) {
    const length = Number(file.readBigUInt64LE(at));
    yield file.subarray(at + 12, at + 12 + length);
    at += length + 16;
  }
}

/** A message's fields by number; those of fixed size as bytes. */
function fieldsOf(message: Buffer): Map<number, (Buffer | number)[]> {
  const fields = new Map<number, (Buffer | number)[]>();
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const take = (length: number) => message.subarray(at, (at += length));
  while (at < message.length) {
    const key = varint();
    const wire = key % 8;
    const value = wire === 0 ? varint() : take(wire === 1 ? 8 : wire === 5 ? 4 : varint());
    const field = Math.floor(key / 8);
    fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}

function bufferOf(value: Buffer | number | undefined): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}

/** What a job has logged, as TensorBoard would show it. */
export function loggedCurves(project: string, jobId: string): Curves {
  const curves: Curves = {};
  for (const { event, data } of readEvents(project, jobId)) {
    const { step, metrics = {}, ...values } = data as { step: number; metrics?: object };
    const isLog = event === "training.log";
    const add = (tag: string, value: unknown) =>
      (curves[tag] ??= []).push([step, Math.fround(Number(value))]);
    for (const [name, value] of Object.entries(isLog ? values : {})) {
      add(TAGS[name as keyof typeof TAGS], value);
    }
    for (const [name, value] of Object.entries(metrics)) {
      add(`${isLog ? "train" : "evaluate"}/${name}`, value);
    }
  }
  return curves;
}
