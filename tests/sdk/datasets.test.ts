import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { DatasetInput } from "../../protocol/dataset.ts";
import { checkTraining } from "../../sdk/checkTraining.ts";
import type { TrainerOptions } from "../../sdk/index.ts";
import { type DrivenTrainer, DRIVER } from "../../sdk/trainer.ts";
import { startHub } from "../hub/server.ts";
import { createTinyTrainer, enterProject } from "./project.ts";

const FIXTURES = join(import.meta.dirname, "../engines/dataset/tables/fixtures");
const ROWS = Array.from({ length: 8 }, (_, n) => ({ prompt: `${n}+1`, completion: `${n + 1}` }));
const TOOL = { type: "function", function: { name: "f" } } as const;
const JSONL = ROWS.map((row) => `${JSON.stringify(row)}\n`).join("");

/** A tiny trainer on a dataset, what it told, and where its job is. */
async function train(dataset: DatasetInput, more: Partial<TrainerOptions> = {}) {
  const project = process.cwd();
  const trainer = createTinyTrainer({ ...more, dataset });
  const notes: string[] = [];
  (trainer as DrivenTrainer)[DRIVER].observe({ onNote: (note) => void notes.push(note) });
  const { jobId } = await trainer.start();
  const directory = join(project, ".kit/jobs", jobId);
  const frozen = (name = "data.jsonl") => readFileSync(join(directory, name), "utf8");
  return { trainer, directory, notes, frozen, ended: trainer.wait() };
}

describe("a dataset", () => {
  it.each<[string, DatasetInput]>([
    ["in memory", ROWS],
    ["that a function returns", () => ROWS],
    ["that a function promises", () => Promise.resolve(new Set(ROWS))],
    [
      "that a function yields",
      async function* () {
        for (const row of ROWS) yield await Promise.resolve(row);
      },
    ],
  ])("%s is kept in the job's folder, and trained", async (_, dataset) => {
    enterProject();
    const { ended, directory, frozen } = await train(dataset, { evalDataset: ROWS.slice(0, 2) });
    expect((await ended).job.status).toBe("completed");
    expect(frozen()).toBe(JSONL);
    expect(frozen("evalData.jsonl").trim().split("\n")).toHaveLength(2);
    expect(statSync(join(directory, "data.jsonl")).mode & 0o777).toBe(0o600);
    const { config } = JSON.parse(readFileSync(join(directory, "job.json"), "utf8")) as {
      config: object;
    };
    expect(config).toMatchObject({ dataset: { type: "code", path: [] } });
  });

  it("of a table is taken by the names of its columns, or by those that are named", async () => {
    const project = enterProject();
    const lines = [
      "asked;answered;by",
      ...ROWS.map((row) => `${row.prompt};"${row.completion}";me`),
    ];
    writeFileSync(join(project, "data.csv"), lines.join("\n"));
    const columns = { prompt: "asked", completion: "answered" };
    const { ended, frozen, notes } = await train({ path: "data.csv", columns });
    await ended;
    expect(frozen()).toBe(JSONL);
    expect(notes).toContain("data.csv: columns asked → prompt, answered → completion");
    expect(notes).toContainEqual(
      expect.stringMatching(/^ignoring keys in .*data\.csv: "by" of \d/),
    );
    await expect((await train({ path: "data.csv" })).ended).rejects.toThrow(
      /data\.csv: Kit cannot tell which columns .* "asked", "answered", "by"\. Set columns/,
    );
  });

  it("of a file is mapped row by row, and rows are left out", async () => {
    const project = enterProject();
    writeFileSync(
      join(project, "log.jsonl"),
      ROWS.map(({ prompt, completion }, n) =>
        JSON.stringify({ n, asked: prompt, said: completion }),
      ).join("\n"),
    );
    const { ended, frozen } = await train({
      path: "log.jsonl",
      map: ({ n, asked, said }) =>
        Number(n) < 4 ? { prompt: String(asked), completion: String(said) } : undefined,
    });
    await ended;
    expect(frozen()).toBe(JSONL.split("\n").slice(0, 4).join("\n") + "\n");
  });

  it("of Kit's own JSONL is written to the job's folder, too, with each digit and the order of keys", async () => {
    const project = enterProject();
    const call = `{"type":"function","function":{"name":"set","arguments":{"b":2512292042121000001,"10":0.0,"2":null}}}`;
    const row = `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a","tool_calls":[${call}]}]}`;
    writeFileSync(join(project, "rows.jsonl"), `${JSONL}${row.replace('"a"', '"a" ')}\n`);
    const { ended, directory } = await train({ path: "rows.jsonl" });
    // Kit's own models take no tools.
    await expect(ended).rejects.toThrow(/rows\.jsonl:\d+: /);
    expect(readFileSync(join(directory, "data.jsonl"), "utf8").trim().split("\n").at(-1)).toBe(row);
  });

  it.each<[string, DatasetInput, RegExp]>([
    ["that is empty", [], /^dataset has no rows\. /],
    ["of which a row is wrong", [ROWS[0]!, { text: 1 } as never], /^dataset, row 2: "text" is not/],
    ["with a BigInt", [{ text: 1n } as never], /^dataset, row 1: "text" is not a string/],
    [
      "that throws where it is read",
      [
        Object.defineProperty({}, "text", {
          enumerable: true,
          get: () => JSON.parse("{") as unknown,
        }) as never,
      ],
      /^dataset, row 1: cannot be written as JSON: Expected property name/,
    ],
    [
      "with a row above 64 MiB",
      [{ text: "x".repeat(2 ** 26) }],
      /^dataset, row 1: the row has more/,
    ],
    ["that cannot be iterated", (() => ({ [Symbol.iterator]: 5 })) as never, /returned no rows\. /],
    [
      "whose code throws no error",
      () => {
        // oxlint-disable-next-line typescript/only-throw-error -- As somebody's code may.
        throw "gone";
      },
      /^The project's code threw 'gone'\. /,
    ],
    ["that a function forgets", (() => undefined) as never, /^The function of dataset returned no/],
    ["of several kinds", { path: ["a.csv", "b.json"] }, /"dataset\.path" names files of several/],
    [
      "whose code throws",
      () => {
        throw new Error("no database");
      },
      /^no database$/,
    ],
  ])(
    "%s fails the job in one sentence, before anything is trained",
    async (_, dataset, message) => {
      enterProject();
      const run = async () => {
        const { ended } = await train(dataset);
        await ended;
      };
      await expect(run()).rejects.toThrow(message);
    },
  );

  it("of code is made once, and a resumed job reads the rows of before", async () => {
    enterProject();
    let calls = 0;
    const dataset = () => {
      calls++;
      return ROWS;
    };
    const failing = {
      onLog: ({ step }: { step: number }) => {
        if (step === 4) throw new Error("stop");
      },
    };
    const options = { maxSteps: 6, saveSteps: 2, loggingSteps: 1 };
    const first = await train(dataset, { ...options, callbacks: failing });
    await expect(first.ended).rejects.toThrow("stop");
    const second = await train(dataset, { ...options, resume: true });
    await second.ended;
    expect(calls).toBe(1);
    expect(second.frozen()).toBe(JSONL);
    expect(second.notes).toContain("reusing the rows of the earlier job's dataset");
    expect(second.notes.filter((note) => note.startsWith("warning"))).toEqual([]);
  });

  it("that has changed is made anew by a resumed job", async () => {
    const project = enterProject({ "b.csv": "prompt,completion\nb,b\nc,c\n" });
    const stop = { onCheckpoint: () => Promise.reject(new Error("stop")) };
    const first = await train(ROWS, { callbacks: stop });
    await expect(first.ended).rejects.toThrow("stop");
    const second = await train({ path: "b.csv", map: (row) => row as never }, { resume: true });
    await second.ended;
    expect(second.frozen()).toBe(
      '{"prompt":"b","completion":"b"}\n{"prompt":"c","completion":"c"}\n',
    );
    expect(second.notes.join("\n")).toContain("warning: ");
    expect(existsSync(join(project, "b.csv"))).toBe(true);
  });

  it("of the hub is trained, kept in the job's folder, and not asked for again by a resumed job", async () => {
    const project = enterProject();
    const hub = await startHub({ "datasets/org/sums": { files: {} } });
    hub.commit(
      "datasets/org/sums",
      { "default/train/0000.parquet": readFileSync(join(FIXTURES, "snappy.parquet")) },
      "refs/convert/parquet",
    );
    vi.stubEnv("HF_ENDPOINT", hub.endpoint);
    vi.stubEnv("HF_HOME", join(project, "home"));
    onTestFinished(() => void vi.unstubAllEnvs());
    const columns = { prompt: "question", completion: "answer" };
    const dataset = { type: "hub", name: "org/sums", columns } as const;
    const stop = { onCheckpoint: () => Promise.reject(new Error("stop")) };
    const first = await train(dataset, { callbacks: stop });
    await expect(first.ended).rejects.toThrow("stop");
    await hub.close();
    const second = await train(dataset, { resume: true });
    expect((await second.ended).job.status).toBe("completed");
    expect(second.frozen().split("\n")[1]).toBe(`{"prompt":"What is 1?","completion":"odd"}`);
  });

  it("that never comes keeps no cancelled job waiting", async () => {
    enterProject();
    const never = async function* () {
      await new Promise(() => undefined);
      yield ROWS[0]!;
    };
    const { trainer, ended } = await train(never);
    await trainer.cancel();
    expect((await ended).job.status).toBe("cancelled");
  });

  it("of which every row is left out keeps no cancelled job waiting", async () => {
    enterProject();
    let cancel = () => {};
    function* endless() {
      setTimeout(() => cancel());
      for (;;) yield undefined as never;
    }
    const { trainer, ended } = await train(endless);
    cancel = () => void trainer.cancel();
    expect((await ended).job.status).toBe("cancelled");
  });

  it("whose map takes long over each row keeps no cancelled job waiting", async () => {
    enterProject();
    let cancel = () => {};
    let mapped = 0;
    const map = () => {
      if (mapped++ === 0) setTimeout(() => cancel());
      for (const from = performance.now(); performance.now() - from < 60;);
      return undefined;
    };
    const rows = Array.from({ length: 500 }, (_, n) => ({ prompt: `${n}`, completion: "" }));
    writeFileSync("rows.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
    const { trainer, ended } = await train({ path: "rows.jsonl", map });
    cancel = () => void trainer.cancel();
    expect((await ended).job.status).toBe("cancelled");
    expect(mapped).toBeLessThan(500);
  });

  it("that an engine refuses is named by its own rows", async () => {
    const project = enterProject({ "a.csv": 'prompt,completion\n"1\n2",1\n3,\n5,\n' });
    const { ended } = await train([ROWS[0]!, { ...ROWS[1]!, tools: [TOOL] }]);
    await expect(ended).rejects.toThrow(
      /^dataset, row 2: The model's chat template doesn't support tools/,
    );
    const path = join(project, "a.csv");
    const { notes, ended: trained } = await train({ path: "a.csv" });
    await trained;
    expect(notes).toContain(
      `warning: an empty answer or text in 2 of 3 rows\n  the first is ${path}:4`,
    );
    const trainer = createTinyTrainer({ dataset: { path: "a.csv" }, maxLength: 4 });
    await expect(checkTraining(trainer as DrivenTrainer, project, {})).rejects.toThrow(
      `No row of ${path} can be trained on within 4 tokens.`,
    );
  });

  it("is made for a check, too, which leaves nothing", async () => {
    const project = enterProject();
    const trainer = createTinyTrainer({ dataset: ROWS });
    const checked = await checkTraining(trainer as DrivenTrainer, project, {});
    expect(checked.started.rows).toBe(ROWS.length);
    expect(existsSync(join(project, ".kit"))).toBe(false);
  });
});
