// TensorBoard's event files: TFRecords of `Event` messages, as tensorboard/compat/proto/*.proto defines them.
import { closeSync, writeSync } from "node:fs";
import { APPEND_FLAGS, openRegular } from "../../disk/file.ts";
import { crc32c } from "./crc32c.ts";
import { bytes, double, float, integer, message, text } from "./protobuf.ts";

/** An `Event`'s time, in ms since 1970, and its optimizer step. */
export interface At {
  time: number;
  step: number;
}

export interface EventFile {
  /** Writes one event with a value for each tag; not-a-number is drawn as a triangle. */
  scalars: (at: At, values: Readonly<Record<string, number>>) => void;
  /** Writes Markdown, for the Text tab. */
  markdown: (at: At, tag: string, markdown: string) => void;
  /** Idempotent. */
  close: () => void;
}

/** Field numbers. */
const EVENT = { wallTime: 1, step: 2, fileVersion: 3, summary: 5 };
const SUMMARY = { value: 1 };
const VALUE = { tag: 1, simpleValue: 2, tensor: 8, metadata: 9 };
const METADATA = { pluginData: 1 };
const PLUGIN_DATA = { pluginName: 1 };
const TENSOR = { dtype: 1, shape: 2, stringValue: 8 };
const SHAPE = { dimension: 2 };
const DIMENSION = { size: 1 };
const DT_STRING = 7;

/** @throws the errors of `openSync`; each write throws those of `writeSync` */
export function openEventFile(path: string): EventFile {
  const file = openRegular(path, APPEND_FLAGS);
  let isOpen = true;
  const write = ({ time, step }: At, content: Buffer) =>
    writeSync(
      file,
      asRecord(message(double(EVENT.wallTime, time / 1000), integer(EVENT.step, step), content)),
    );
  const summary = (...values: Buffer[]) =>
    bytes(EVENT.summary, message(...values.map((value) => bytes(SUMMARY.value, value))));
  write({ time: Date.now(), step: 0 }, text(EVENT.fileVersion, "brain.Event:2"));
  return {
    scalars(at, values) {
      const fields = Object.entries(values).map(([tag, value]) =>
        message(text(VALUE.tag, tag), float(VALUE.simpleValue, value)),
      );
      write(at, summary(...fields));
    },
    markdown(at, tag, markdown) {
      const plugin = bytes(METADATA.pluginData, text(PLUGIN_DATA.pluginName, "text"));
      const shape = bytes(SHAPE.dimension, integer(DIMENSION.size, 1));
      const tensor = message(
        integer(TENSOR.dtype, DT_STRING),
        bytes(TENSOR.shape, shape),
        text(TENSOR.stringValue, markdown),
      );
      const fields = [bytes(VALUE.tensor, tensor), bytes(VALUE.metadata, plugin)];
      write(at, summary(message(text(VALUE.tag, tag), ...fields)));
    },
    close() {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}

/** A TFRecord: length, checksum of the length, data, checksum of the data. */
function asRecord(data: Buffer): Buffer {
  const record = Buffer.alloc(data.length + 16);
  record.writeBigUInt64LE(BigInt(data.length));
  record.writeUInt32LE(masked(record.subarray(0, 8)), 8);
  data.copy(record, 12);
  record.writeUInt32LE(masked(data), data.length + 12);
  return record;
}

/** TFRecord's checksum: rotated, since a checksum of data that holds its own is weak. */
function masked(data: Buffer): number {
  const crc = crc32c(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}
