import { execFile } from "node:child_process";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import OpenAI, { toFile } from "openai";
import { expect, it } from "vitest";
import { jsonl } from "../../../engines/embedded/scratch.ts";
import { PYTHON, hasPython } from "../../../engines/python/environment.ts";
import { runKit } from "../../../kit.ts";
import { startServe } from "../../../serveCommand.ts";
import { BASE, ROWS, createTuningProject, untilEnded } from "./tuningProject.ts";

/** Prints which threads a process starts. */
const COUNT = `const threads = require("node:worker_threads");
threads.Worker = class extends threads.Worker {
  constructor(url, ...more) {
    super(url, ...more);
    console.error(String(url));
  }
};
require("node:module").syncBuiltinESMExports();`;
const PROGRAM = fileURLToPath(new URL("script.py", import.meta.url));

it("runs OpenAI's fine-tuning script with another baseURL and model name; the model is there after a restart", async () => {
  const project = createTuningProject({ "mydata.jsonl": jsonl(ROWS), "count.cjs": COUNT });
  const count = join(project, "count.cjs");
  const alias = `gpt-4.1-nano-2025-04-14=${BASE}`;
  const args = ["--fine-tuning", "--base", BASE, "--alias", alias];
  const serve = await startServe(project, args);
  const client = new OpenAI({ baseURL: serve.baseURL, apiKey: "none" });

  const file = await client.files.create({
    file: createReadStream(join(project, "mydata.jsonl")),
    purpose: "fine-tune",
  });
  const created = await client.fineTuning.jobs.create({
    training_file: file.id,
    validation_file: (
      await client.files.create({
        file: await toFile(Buffer.from(jsonl(ROWS.slice(0, 4))), "held-out.jsonl"),
        purpose: "fine-tune",
      })
    ).id,
    model: "gpt-4.1-nano-2025-04-14",
    suffix: "parity",
    metadata: { team: "numbers" },
    method: {
      type: "supervised",
      supervised: { hyperparameters: { n_epochs: 40, learning_rate_multiplier: 100 } },
    },
  });
  expect(created).toMatchObject({ object: "fine_tuning.job", status: "validating_files" });
  const job = await untilEnded(client, created.id);
  expect(job).toMatchObject({
    status: "succeeded",
    error: null,
    fine_tuned_model: `ft:gpt-4.1-nano-2025-04-14:parity:${created.id.slice("ft-".length)}`,
    hyperparameters: { n_epochs: 40, batch_size: 4, learning_rate_multiplier: 100 },
    metadata: { team: "numbers" },
    seed: 42,
  });
  expect(job.trained_tokens).toBeGreaterThan(0);
  expect(job.finished_at).toBeGreaterThanOrEqual(job.created_at);

  const events = [];
  for await (const event of client.fineTuning.jobs.listEvents(job.id, { limit: 50 })) {
    events.push(event);
  }
  expect(events[0]?.message).toBe("The job has successfully completed");
  expect(events.at(-1)?.message).toBe(`Created fine-tuning job: ${job.id}`);
  expect(events.filter(({ type }) => type === "metrics")).toHaveLength(120);
  const csv = await (await client.files.content(job.result_files[0]!)).text();
  expect(csv.trimEnd().split("\n")).toHaveLength(121);
  expect(csv).toMatch(/^step,train_loss,valid_loss\n1,[\d.]+,\n[^]*\n120,[\d.]+,[\d.]+\n$/);

  const { data: checkpoints } = await client.fineTuning.jobs.checkpoints.list(job.id);
  expect(checkpoints.map(({ step_number }) => step_number)).toEqual([120, 100]);
  const ask = async (to: OpenAI, model: string) => {
    const messages = [{ role: "user" as const, content: "7" }];
    const answer = await to.chat.completions.create({ model, messages, max_tokens: 8 });
    return [answer.model, answer.choices[0]?.message.content];
  };
  expect(await ask(client, job.fine_tuned_model!)).toEqual([job.fine_tuned_model, "odd"]);
  const { fine_tuned_model_checkpoint: checkpoint = "" } = checkpoints[0] ?? {};
  expect(await ask(client, checkpoint)).toEqual([checkpoint, "odd"]);
  const listed = await runKit(project, ["jobs"]);
  expect(listed.stdout).toMatch(new RegExp(`^completed +${job.id.slice(3)} .* parity$`, "m"));

  serve.child.kill("SIGKILL");
  await serve.ended;
  const again = await startServe(project, args, { NODE_OPTIONS: `--require ${count}` });
  const other = new OpenAI({ baseURL: again.baseURL, apiKey: "none" });
  expect(await ask(other, job.fine_tuned_model!)).toEqual([job.fine_tuned_model, "odd"]);
  expect(await other.fineTuning.jobs.retrieve(job.id)).toEqual(job);
  // Base and adapter are on one thread, where they share the base's weights.
  await ask(other, checkpoint);
  again.child.kill("SIGINT");
  expect((await again.ended).stderr.match(/inferWorker/g)).toHaveLength(1);
});

it.runIf(hasPython)("runs it in Python, whose package checks every field", async () => {
  const project = createTuningProject({ "mydata.jsonl": jsonl(ROWS) });
  const serve = await startServe(project, ["--fine-tuning", BASE]);
  const words = ["-B", PROGRAM, serve.baseURL, "base", join(project, "mydata.jsonl")];
  const { stdout } = await promisify(execFile)(PYTHON, words);
  expect(JSON.parse(stdout)).toEqual({
    statuses: ["validating_files", "succeeded"],
    jobs: [true],
    message: "The job has successfully completed",
    steps: [120, 100],
    csv: "step,train_loss,valid_loss",
    answer: "odd",
    deleted: true,
  });
});
