import { basename } from "node:path";
import { isRecord } from "../../protocol/isRecord.ts";
import { keysOf } from "../../protocol/json.ts";
import type { IgnoredKeys } from "./ignoredKeys.ts";
import { type FormOptions, recordForm } from "./records/recordForm.ts";

export interface RecordMapperOptions extends FormOptions {
  /** Whether a record may lack keys that others have. */
  isRagged: boolean;
  ignored: IgnoredKeys;
  /** Takes a line for people on each form, once. */
  onNote: (text: string) => void;
}

/** Makes rows in Kit's own forms of a dataset's records, each by its own keys. */
export function createRecordMapper({ isRagged, ignored, onNote, ...options }: RecordMapperOptions) {
  const told = new Set<string>();
  return {
    /**
     * @returns the record itself, where its form is unknown: `parse` says what is wrong
     * @throws KitError `DATASET_INVALID`, its message beginning with `where`
     */
    rowOf(record: unknown, where: string): unknown {
      if (!isRecord(record)) return record;
      const all = keysOf(record);
      // LLaMA-Factory's name of a label.
      if (!options.isTable && all.includes("kto_tag") && !all.includes("label")) {
        const { kto_tag: label, ...rest } = record;
        return this.rowOf({ ...rest, label }, where);
      }
      // Libraries write a key that a record lacks as null.
      const isPart = isRagged && options.columns === undefined;
      const names = isPart ? all.filter((name) => record[name] !== null) : all;
      const form = recordForm(names, where, options);
      if (!form) return record;
      if (form.source !== undefined && !told.has(form.source)) {
        told.add(form.source);
        onNote(`${fileOf(where)}: ${form.told}`);
      }
      ignored.leave(record, form.reads, form.loses);
      return form.rowOf(record, where);
    },
  };
}

function fileOf(where: string): string {
  return basename(where.replace(/(?::\d+|, row \d+)$/, ""));
}
