import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { remove } from "../../disk/move.ts";
import { typeOfFile } from "../../protocol/dataset.ts";
import { KitError, cannotWrite } from "../../protocol/error.ts";
import { formatCounted } from "../../protocol/format.ts";
import { stringifyJson } from "../../protocol/json.ts";
import type { HeldOutRows } from "../../protocol/metric.ts";
import type { JobConfig } from "../../protocol/trainConfig.ts";
import { materializeDatasets, materializedConfig, chooseHeldOutRows } from "../../sdk/engine.ts";
import { isEvaluable } from "../../sdk/metrics/answerRows.ts";
import type { WrongRow } from "../../sdk/metrics/wrongRows.ts";
import { COMMAND_FOLDER } from "../project/folder.ts";

interface EvaluatedRowsOptions {
  /** The model's job, if it has one. */
  job: { directory: string } | undefined;
  /** The job's config, or the defaults for a model without a job. */
  config: JobConfig;
  /** A file's path, relative to the user's folder. */
  data: string | undefined;
  maxRows: number;
  onNote: (text: string) => void;
}

/**
 * The rows to evaluate on: a file's, or a job's held-out rows.
 * @throws KitError `USAGE_INVALID` without any, and the errors of reading them
 */
export async function evaluatedRows(options: EvaluatedRowsOptions): Promise<HeldOutRows> {
  const { job, config, data, maxRows, onNote } = options;
  const directory = mkdtempSync(join(tmpdir(), "kit-eval-"));
  try {
    const choice = { maxRows, isEvaluable, onNote };
    const heldOut = await chooseHeldOutRows(await evaluationConfig(), choice);
    if (heldOut.rows.length > 0) return heldOut;
    throw new KitError(
      "DATASET_INVALID",
      "No held-out row has a text answer. Pass rows of {prompt, completion} or {messages} with --data.",
    );

    async function evaluationConfig(): Promise<JobConfig> {
      if (data !== undefined) {
        const evalDataset = { type: typeOfFile(data), path: resolve(COMMAND_FOLDER, data) };
        // Required by the type, but not read.
        const dataset = { type: "jsonl", path: evalDataset.path } as const;
        const options = { ...config, dataset, evalDataset };
        return (await materializeDatasets(options, { code: {}, directory, onNote })).config;
      }
      if (job && (config.evalDataset ?? config.evalSplit) !== undefined) {
        return materializedConfig(config, job.directory);
      }
      throw new KitError(
        "USAGE_INVALID",
        `${job ? "The job has no held-out rows" : "A model without a job has no held-out rows"}. Pass a file of rows with --data.`,
      );
    }
  } finally {
    remove(directory);
  }
}

/**
 * A file for the rows that a model got wrong, in training format, each with the model's answer as `got`.
 * @param name its path, relative to the user's folder
 * @throws KitError `CANNOT_WRITE` if it exists: its rows may have been corrected
 */
export function newRowFile(name: string) {
  const path = resolve(COMMAND_FOLDER, name);
  if (existsSync(path)) {
    throw new KitError("CANNOT_WRITE", `${path} already exists. Pass another file with --wrong.`);
  }
  return {
    write(wrong: readonly WrongRow[]): void {
      const lines = wrong.map(({ row, answer }) => `${stringifyJson({ ...row, got: answer })}\n`);
      try {
        writeFileSync(path, lines.join(""), { flag: "wx" });
      } catch (error) {
        throw cannotWrite(`write ${path}`, error);
      }
    },
    note: ({ length }: readonly WrongRow[]) =>
      `wrote ${formatCounted(length, "wrong row")} to ${name}`,
  };
}
