import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { createScratch } from "../scratch.ts";
import { PYTHON, hasRay } from "./environment.ts";

const ENGINES = fileURLToPath(new URL("../../../engines", import.meta.url));
const PROGRAM = fileURLToPath(new URL("workers.py", import.meta.url));
const DIFFERENT = [
  "DATASET_INVALID",
  "The workers read different rows from the same dataset. Put the same file on each node, or use a URL that all of them share.",
];
const LOG = "See its log there: ray job logs kit-1.";

const failed = (what: string) => ["WORKER_FAILED", `The Python engine failed: ${what}. ${LOG}`];

const failing = (seconds: number) =>
  `warning: /there/kit-1/step-2 cannot be stored (OSError: [Errno 5] Input/output error); trying again in ${seconds} s`;

const LOAD = { type: "load", id: 1 };
const infer = (id: number) => ({ type: "infer", id });

const scratch = createScratch();
afterAll(() => scratch.remove());

it.runIf(hasRay)(
  "tells a worker's own error and rows that differ, leaves a lost worker's to Ray, and announces again what it goes on from, stores with patience, and waits for a Kit as long as it is heard",
  async () => {
    const words = ["-B", PROGRAM, ENGINES, scratch.directory()];
    const env = { ...process.env, OMP_NUM_THREADS: "1", RAY_TRAIN_V2_ENABLED: "1" };
    const { stdout } = await promisify(execFile)(PYTHON, words, { env });
    // Only the process of the Python engine, on Kit's own machine, looks at it.
    expect(stdout).not.toContain("DEBUG=kit");
    expect(JSON.parse(stdout)).toEqual({
      gone: [
        0,
        "WORKER_FAILED",
        `The Python engine failed: FileNotFoundError: [Errno 2] No such file: '/shared/rows.jsonl'. ${LOG}`,
      ],
      gpu: [0, "OUT_OF_MEMORY", expect.stringMatching(/^The GPU ran out of memory\. /)],
      value: [0, "WORKER_FAILED", `The Python engine failed: ValueError: odd. ${LOG}`],
      // Not before Ray had time to end the workers that a lost one leaves.
      shapes: [1, "WORKER_FAILED", `The Python engine failed: RuntimeError: shapes differ. ${LOG}`],
      alone: [0, "WORKER_FAILED", `The Python engine failed: RuntimeError: shapes differ. ${LOG}`],
      gloo: "thrown",
      nccl: "thrown",
      ray: "thrown",
      newest: ["", "step-50", "step-100-2"],
      lost: [
        {
          type: "event",
          event: {
            event: "checkpoint.saved",
            data: { step: 2, kind: "model", path: "artifacts/step-2" },
          },
          stored: {
            path: "/shared/kit-1/step-2",
            files: {
              "trainer_state.json": {
                size: expect.any(Number) as number,
                sha256: expect.stringMatching(/^[\da-f]{64}$/) as string,
              },
            },
          },
        },
        {
          type: "note",
          text: "warning: a worker was lost; training continues from step 3",
        },
        {
          type: "note",
          text: "warning: a worker was lost; training continues from step 1",
        },
        [1, "step-2"],
      ],
      lacking: [
        [0, ...failed("ImportError: No module named 'adlfs'")],
        [0, ...failed("AttributeError: module 'ray.train' has no attribute 'report'")],
        failed("NotImplementedError: no Azure in this pyarrow"),
      ],
      memory: expect.stringMatching(/Use a smaller model, shorter prompts or a smaller maxTokens/),
      asked: {
        code: "WORKER_FAILED",
        message: `The Python engine failed: ValueError: odd. ${LOG}`,
      },
      // Not what was cancelled; behind the tokens that Kit has, which are not told again.
      again: [
        [
          [LOAD, infer(2)],
          [LOAD, { ...infer(2), generated: [8, 9] }, infer(4), { type: "cancel", id: 4 }],
          [LOAD],
        ],
        [
          ["answer", 1],
          ["tokens", 2],
          ["tokens", 2],
          ["answer", 2],
          ["tokens", 4],
        ],
      ],
      kept: [5, 16, 8],
      stored: [failing(1), 1, failing(4), 4, ["config.json"]],
      unstored: [
        ...[failing(1), 1, failing(4), 4, failing(16), 16, "CHECKPOINT_UNWRITABLE"],
        "Cannot store /there/kit-1/step-2: OSError: [Errno 5] Input/output error. Check the storage, then run npx kit start --resume.",
      ],
      often:
        "Workers were lost more often than maxFailures (3) allows, perhaps with their nodes, or because memory ran out. To continue from the checkpoints in /shared/kit-1, run npx kit start --resume.",
      rows: [1, DIFFERENT, DIFFERENT],
      unwritable:
        "Ray cannot write to its storage /shared: FileNotFoundError: [Errno 2] Cannot create directory '/proc/nope'. Detail: [errno 2]. Set ray({ storage }) to a path or URL that every node can write to.",
      under: ["/shared/kit-1?", "s3://bucket/runs/kit-1?scheme=http"],
    });
  },
);
