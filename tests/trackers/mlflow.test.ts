import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { readPage, snippetsOf } from "../docs/snippets.ts";
import { TINY_DATA, runKit } from "../kit.ts";
import { createProject } from "../project.ts";
import { hasTrackers, program } from "./environment.ts";

const TRAINER = `import { createTrainer } from "kit";
import { mlflow } from "./mlflow.ts";
export const trainer = createTrainer({
  name: "tracked",
  model: { layers: 1, heads: 1, width: 8, context: 32 },
  dataset: { path: "data.jsonl" },
  ...{ maxSteps: 4, saveSteps: 4, loggingSteps: 1, evalSplit: 0.25 },
  evaluate: { metrics: { loss: ({ output }) => output.length } },
  callbacks: mlflow(),
});`;

interface Found {
  runs: {
    info: { run_name: string; status: string };
    data: { metrics: { key: string; step: number }[] };
  }[];
}

test.runIf(hasTrackers)(
  "the callbacks of docs/trackers.md send a job to an MLflow server",
  async () => {
    const snippet = snippetsOf(readPage("trackers.md")).find(({ path }) =>
      path?.includes("mlflow"),
    );
    const project = createProject({
      "data.jsonl": TINY_DATA,
      "src/kit/index.ts":
        'import { createKit } from "kit";\nimport { trainer } from "./trainer.ts";\nexport const kit = createKit({ trainer });\n',
      "src/kit/trainer.ts": TRAINER,
      "src/kit/mlflow.ts": snippet!.code,
    });
    const server = await startMlflow(project);
    const env = { MLFLOW_TRACKING_URI: server };
    const { code, stderr } = await runKit(project, ["start"], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const body = JSON.stringify({ experiment_ids: ["0"] });
    const headers = { "Content-Type": "application/json" };
    const init = { method: "POST", headers, body };
    const response = await fetch(`${server}/api/2.0/mlflow/runs/search`, init);
    const { runs } = (await response.json()) as Found;
    expect(runs).toHaveLength(1);
    expect(runs[0]?.info).toMatchObject({
      run_name: expect.stringMatching(/^tracked \d{8}-/) as string,
      status: "FINISHED",
    });
    const keys = runs[0]?.data.metrics.map(({ key, step }) => `${key} ${step}`).sort();
    expect(keys).toEqual(
      [
        "epoch",
        "evalLoss",
        "evaluate/loss",
        "gradNorm",
        "learningRate",
        "loss",
        "tokensPerSecond",
      ].map((key) => `${key} 4`),
    );
  },
);

async function startMlflow(folder: string): Promise<string> {
  const port = String(await freePort());
  const words = ["server", "--port", port, "--workers", "1"];
  const store = ["--backend-store-uri", `sqlite:///${folder}/mlflow.db`];
  const child = spawn(program("mlflow"), [...words, ...store], {
    cwd: folder,
    stdio: "ignore",
    detached: true,
  });
  const closed = once(child, "close");
  onTestFinished(async () => {
    process.kill(-child.pid!, "SIGKILL");
    await closed;
  });
  const server = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(`${server}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isUp, { timeout: 600_000 }).toBe(true);
  return server;
}

async function freePort(): Promise<number> {
  const listening = createServer().listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  listening.close();
  return port;
}
