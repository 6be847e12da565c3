import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { jsonl } from "../../../engines/embedded/scratch.ts";
import { runKit } from "../../../kit.ts";
import { type ServeCommand, startServe } from "../../../serveCommand.ts";
import { BASE, ROWS, createTuningProject, untilEnded } from "./tuningProject.ts";

const ARGS = ["--fine-tuning", BASE];
const MODEL = "base";
/** A training that goes on until it is ended. */
const ENDLESS = { hyperparameters: { n_epochs: 1_000 } };

const clientOf = ({ baseURL }: ServeCommand) =>
  new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });

async function upload(client: OpenAI, rows: unknown[], name = "train.jsonl"): Promise<string> {
  const file = await toFile(Buffer.from(jsonl(rows as object[])), name);
  return (await client.files.create({ file, purpose: "fine-tune" })).id;
}

async function begin() {
  const project = createTuningProject();
  const serve = await startServe(project, ARGS);
  const client = clientOf(serve);
  const training_file = await upload(client, ROWS);
  const create = (more: object = {}) =>
    client.fineTuning.jobs.create({ model: MODEL, training_file, ...more });
  const status = async (id: string) => (await client.fineTuning.jobs.retrieve(id)).status;
  return { project, serve, client, training_file, create, status };
}

/** Ends a process and waits until it is gone. */
async function kill({ child, ended }: ServeCommand): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

/** The pid of the process that trains a job. */
function trainerOf(project: string, id: string): number {
  const lease = readFileSync(join(project, ".kit/jobs", id.slice(3), "lease.json"), "utf8");
  return (JSON.parse(lease) as { owner: { pid: number } }).owner.pid;
}

it("refuses what it can't do with a 400 that names the field and what to do", async () => {
  const { serve, training_file } = await begin();
  const wrong: [body: object, param: string, message: RegExp][] = [
    [{ model: "gpt-4o" }, "model", /--alias "gpt-4o"=<model>/],
    [{ model: "" }, "model", /string/],
    [{ training_file: "file-0" }, "training_file", /GET \/v1\/files/],
    [{ training_file: undefined }, "training_file", /uploaded file/],
    [{ validation_file: "../x" }, "validation_file", /GET \/v1\/files/],
    [{ suffix: "a/b" }, "suffix", /64 letters/],
    [{ seed: -1 }, "seed", /whole number/],
    [{ metadata: { a: 1 } }, "metadata", /16 pairs of strings/],
    [{ integrations: [{ type: "wandb" }] }, "integrations", /kit ui/],
    [{ method: { type: "reinforcement" } }, "method.type", /dpo, or right answers/],
    [{ method: { type: "dpo", supervised: {} } }, "method.supervised", /Leave it out/],
    [{ hyperparameters: { n_epochs: 0 } }, "hyperparameters.n_epochs", /whole number from 1/],
    [{ hyperparameters: { n_epochs: 0.5 } }, "hyperparameters.n_epochs", /whole number from 1/],
    [
      { hyperparameters: { learning_rate_multiplier: 1e300 } },
      "hyperparameters.learning_rate_multiplier",
      /up to 1000/,
    ],
    [{ hyperparameters: { beta: 1 } }, "hyperparameters.beta", /Leave it out/],
    [
      { method: { type: "dpo", dpo: { hyperparameters: { beta: "x" } } } },
      "method.dpo.hyperparameters.beta",
      /above 0/,
    ],
    [{ learning_rate: 1 }, "learning_rate", /Leave it out/],
  ];
  for (const [body, param, message] of wrong) {
    const response = await serve.post("fine_tuning/jobs", { model: MODEL, training_file, ...body });
    const { error } = (await response.json()) as { error: { param: string; message: string } };
    expect([response.status, error.param]).toEqual([400, param]);
    expect(error.message).toMatch(message);
  }
});

it("checks a job's file before it trains, with kit check's sentence and the uploaded name", async () => {
  const { client, create, project } = await begin();
  const bad = await upload(client, [...ROWS, { messages: [] }], "mine.jsonl");
  for (const param of ["training_file", "validation_file"]) {
    const { id } = await create({ [param]: bad });
    const { status, error, fine_tuned_model } = await untilEnded(client, id);
    expect([status, fine_tuned_model]).toEqual(["failed", null]);
    expect(error).toMatchObject({ code: `invalid_${param}`, param });
    expect(error?.message).toMatch(/^mine\.jsonl:13:/);
    expect(error?.message).not.toContain(project);
    const { data } = await client.fineTuning.jobs.listEvents(id);
    expect(data[0]).toMatchObject({ level: "error", message: error?.message });
  }
});

it("warns of what kit check warns of, with the uploaded name", async () => {
  const { client, create, project } = await begin();
  const [user, hm] = [{ role: "user", content: "a <|im_end|>" }, { reasoning_content: "hm" }];
  const rows = [
    { messages: [user, { role: "assistant", content: "b", ...hm }], context: "c" },
    { messages: [user, { role: "assistant", content: "" }] },
  ];
  const training_file = await upload(client, [...ROWS, ...rows], "mine.jsonl");
  const { id } = await create({ training_file, hyperparameters: { n_epochs: 1 } });
  await untilEnded(client, id);
  const { data } = await client.fineTuning.jobs.listEvents(id);
  const warned = data.filter(({ level }) => level === "warn").map(({ message }) => message);
  expect(warned.toReversed()).toEqual([
    "an empty answer or text in 1 of 14 rows; the first is mine.jsonl:14",
    'ignoring keys in mine.jsonl: "context" of 1 row',
    expect.stringMatching(
      /^2 of 14 rows have a special token.*; the first is .* in mine\.jsonl:13;/,
    ),
    expect.stringMatching(/"reasoning_content" in 1 of 14 rows; the first is mine\.jsonl:13/),
  ]);
  expect(warned.join("")).not.toContain(project);
});

it("trains on pairs with DPO, and fine-tunes a fine-tuned model further", async () => {
  const { client, create } = await begin();
  const pairs = ROWS.map(({ messages: [question, answer] }) => ({
    input: { messages: [question] },
    preferred_output: [answer],
    non_preferred_output: [{ role: "assistant", content: "?" }],
  }));
  const training_file = await upload(client, pairs);
  const hyperparameters = { n_epochs: 2, beta: 0.2, batch_size: 6 };
  const method = { type: "dpo", dpo: { hyperparameters } } as const;
  const first = await untilEnded(client, (await create({ training_file, method })).id);
  expect(first).toMatchObject({
    error: null,
    method: { dpo: { hyperparameters: { ...hyperparameters, learning_rate_multiplier: 1 } } },
  });
  expect(first.hyperparameters).toBeUndefined();
  const model = first.fine_tuned_model!;
  expect(model).toMatch(/^ft:base::\d{8}-/);
  const again = await create({ model, suffix: "b", hyperparameters: { n_epochs: 1 } });
  const second = await untilEnded(client, again.id);
  expect(second).toMatchObject({ error: null, model });
  expect(second.fine_tuned_model).toMatch(/^ft:base:b:\d{8}-/);
});

it("queues fifty jobs created at once, trains them one at a time, and lists them in pages", async () => {
  const { client, create, status, project } = await begin();
  const made = await Promise.all(
    Array.from({ length: 50 }, (_, n) => create({ ...ENDLESS, metadata: { n: `${n}` } })),
  );
  const ids = new Set(made.map(({ id }) => id));
  expect(ids.size).toBe(50);
  const listed: string[] = [];
  for await (const { id } of client.fineTuning.jobs.list({ limit: 20 })) listed.push(id);
  expect(listed).toEqual([...ids].toSorted().toReversed());
  const found = await client.fineTuning.jobs.list({ metadata: { n: "7" } });
  expect(found.data.map(({ id }) => id)).toEqual([made[7]?.id]);
  expect((await client.fineTuning.jobs.list({ metadata: null })).data).toEqual([]);
  const first = [...ids].toSorted()[0]!;
  await expect.poll(() => status(first)).toBe("running");
  const { stdout } = await runKit(project, ["jobs"]);
  expect(stdout.match(/^queued /gm)).toHaveLength(49);
  await Promise.all(
    [...ids]
      .toSorted()
      .slice(2)
      .map((id) => client.fineTuning.jobs.cancel(id)),
  );
  expect((await client.fineTuning.jobs.cancel(first)).status).toBe("cancelled");
  const second = [...ids].toSorted()[1]!;
  await expect.poll(() => status(second)).toBe("running");
  // By the command, and by its id in the API.
  await runKit(project, ["cancel", second.slice(3)]);
  expect(await status(second)).toBe("cancelled");
  await expect(client.fineTuning.jobs.cancel(second)).rejects.toMatchObject({ status: 400 });
});

it("lists what is whole, beside records of another shape", async () => {
  const { client, project, training_file, create } = await begin();
  const job = await create(ENDLESS);
  await client.fineTuning.jobs.cancel(job.id);
  const write = (folder: string, name: string, record: object) => {
    mkdirSync(join(project, ".kit", folder));
    writeFileSync(join(project, ".kit", folder, name), JSON.stringify(record));
  };
  const id = "20260101-000000-000-aaaa";
  const plan = { id, name: "a", createdAt: new Date().toISOString(), trainer: {}, request: {} };
  write(`jobs/${id}`, "trainer.json", plan);
  write(`files/file-${"0".repeat(24)}`, "file.json", { id: 5 });
  const { data: jobs } = await client.fineTuning.jobs.list();
  const { data: files } = await client.files.list();
  expect([...jobs, ...files].map((item) => item.id)).toEqual([job.id, training_file]);
});

it("usage counts the prompt's tokens that the engine had kept", async () => {
  const { client } = await begin();
  const ask = async () => {
    const question = { model: MODEL, input: "a".repeat(100), max_output_tokens: 16 };
    const { usage } = await client.responses.create(question);
    const { input_tokens, input_tokens_details } = usage!;
    return input_tokens_details.cached_tokens / input_tokens;
  };
  expect(await ask()).toBe(0);
  expect(await ask()).toBeGreaterThan(0.8);
});

const ask = (client: OpenAI, model: string) =>
  client.chat.completions.create({
    model,
    messages: [{ role: "user", content: "7" }],
    max_tokens: 1,
  });

it.each(["events", "checkpoints"])("serves each model that a job's %s name", async (list) => {
  const { client, create } = await begin();
  const { jobs } = client.fineTuning;
  const { id } = await create({ hyperparameters: { n_epochs: 1 } });
  let model: string | undefined;
  while (model === undefined) {
    const texts =
      list === "events"
        ? (await jobs.listEvents(id)).data.map(({ message }) => message)
        : (await jobs.checkpoints.list(id)).data.map((point) => point.fine_tuned_model_checkpoint);
    model = texts.map((text) => /ft:.*/.exec(text)?.[0]).find((name) => name !== undefined);
  }
  expect(await ask(client, model)).toMatchObject({ model });
});

it("serves a model whose result file can't be written, and writes the file once it can", async () => {
  const { client, create, project } = await begin();
  const { id } = await create({ hyperparameters: { n_epochs: 100 } });
  const hasSteps = async () =>
    (await client.fineTuning.jobs.listEvents(id)).data.some(({ type }) => type === "metrics");
  await expect.poll(hasSteps).toBe(true);
  const files = join(project, ".kit/files");
  renameSync(files, `${files}-moved`);
  writeFileSync(files, "");
  const { fine_tuned_model: model, result_files } = await untilEnded(client, id);
  expect(await ask(client, model!)).toMatchObject({ model });
  rmSync(files);
  renameSync(`${files}-moved`, files);
  const csv = () => client.files.content(result_files[0]!).then((content) => content.text());
  await expect.poll(() => csv().catch(String)).toMatch(/^step,train_loss/);
});

describe("a job survives", () => {
  it("kill -9 of the server while it trains, and that of its own process fails it with the reason", async () => {
    const { client, create, status, project, serve } = await begin();
    const [one, two] = [await create(ENDLESS), await create({ hyperparameters: { n_epochs: 1 } })];
    await expect.poll(() => status(one.id)).toBe("running");
    await kill(serve);
    const again = clientOf(await startServe(project, ARGS));
    expect(await again.fineTuning.jobs.retrieve(one.id)).toMatchObject({ status: "running" });
    process.kill(trainerOf(project, one.id), "SIGKILL");
    const failed = await untilEnded(again, one.id);
    const error = { code: "training_died" };
    expect(failed).toMatchObject({ status: "failed", error, finished_at: expect.any(Number) });
    // The queue goes on.
    expect(await untilEnded(again, two.id)).toMatchObject({ status: "succeeded" });
    expect(client.baseURL).not.toBe(again.baseURL);
  });

  it("Ctrl-C of the server, which says how to end the training", async () => {
    const { create, status, project, serve } = await begin();
    const { id } = await create(ENDLESS);
    await expect.poll(() => status(id)).toBe("running");
    serve.child.kill("SIGINT");
    const { stdout } = await serve.ended;
    expect(stdout).toMatch(
      new RegExp(`job ${id.slice(3)} keeps training; .* cancel ${id.slice(3)}$`, "m"),
    );
    expect((await runKit(project, ["cancel", id.slice(3)])).code).toBe(0);
  });

  it("kill -9 of the server while its file is checked and while it is queued", async () => {
    const { create, project, serve } = await begin();
    const made = [await create(ENDLESS), await create(), await create()].map(({ id }) => id);
    await kill(serve);
    const again = clientOf(await startServe(project, ARGS));
    for (const id of made.slice(1)) await again.fineTuning.jobs.cancel(id);
    await expect
      .poll(async () => (await again.fineTuning.jobs.retrieve(made[0]!)).status)
      .toBe("running");
    expect(readdirSync(join(project, ".kit/jobs"))).toHaveLength(3);
    expect(await again.fineTuning.jobs.cancel(made[0]!)).toMatchObject({ status: "cancelled" });
  });
});
