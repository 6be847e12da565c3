import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openCheckpoint } from "../../engines/checkpoint/checkpoint.ts";
import { readAll } from "../../engines/modelFiles/tensors.ts";
import { createJobStore } from "../../jobs/store.ts";
import { createTinyProject, startKit, tinySource } from "../kit.ts";
import { createHarm } from "./harm.ts";
import { LONGER } from "./table.ts";

const WAYS = ["trainer.cancel()", "abortSignal", "SIGINT", "SIGTERM"] as const;
const MOMENTS = ["before", "during", "in onCompleted", "after failed", "after completed"] as const;

type Way = (typeof WAYS)[number];
type Moment = (typeof MOMENTS)[number];

/** A project whose environment says how, when and how often it cancels its job. */
const BEFORE = `
const { WAY = "", MOMENT = "", TIMES = "1" } = process.env;
const controller = new AbortController();
const act = (moment: string) => {
  console.log("now", moment);
  if (moment !== MOMENT || WAY.startsWith("SIG")) return;
  for (let n = 0; n < Number(TIMES); n++) {
    if (WAY === "abortSignal") controller.abort();
    else void trainer.cancel();
  }
};
const forever = () => new Promise<void>(() => setInterval(() => {}, 1_000));
if (MOMENT === "before") queueMicrotask(() => act("before"));
process.once("exit", () => act("after completed"));
`;

const OPTIONS = `
    maxSteps: MOMENT === "before" || MOMENT === "during" ? 1_000_000 : 4,
    saveSteps: 1,
    abortSignal: controller.signal,
    callbacks: {
      onLog({ step }) {
        if (step === 4) act("during");
        if (MOMENT === "after failed") throw new Error("no");
      },
      async onCompleted() {
        act("in onCompleted");
        if (MOMENT === "in onCompleted") await forever();
      },
      async onFailed() {
        act("after failed");
        if (WAY.startsWith("SIG")) await forever();
      },
      onCancelled: () => console.log("onCancelled"),
    },`;

function createCancelProject(): string {
  const source = tinySource({ before: BEFORE, options: OPTIONS })
    .replace(
      "export default createKit({\n  trainer: createTrainer({",
      "const trainer = createTrainer({",
    )
    .replace(/\}\),\n\}\);\s*$/, "});\nexport default createKit({ trainer });\n");
  return createTinyProject(source);
}

/** Every folder in a job's artifacts is a whole checkpoint, and every reported one exists. */
function damagedArtifacts(project: string, id: string): string[] {
  const job = join(project, ".kit/jobs", id);
  const folder = join(job, "artifacts");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const damaged = names.filter((name) => {
    try {
      readAll(openCheckpoint(join(folder, name)).weights);
      JSON.parse(readFileSync(join(folder, name, "trainer_state.json"), "utf8"));
      return !/^step-\d+$/.test(name);
    } catch {
      return true;
    }
  });
  const log = readFileSync(join(job, "events.ndjson"), "utf8");
  const told = [...log.matchAll(/"path":"(artifacts\/step-\d+)"/g)].map(([, path = ""]) => path);
  return [...damaged, ...told.filter((path) => !existsSync(join(job, path)))];
}

const EXPECTED: Record<Moment, { status: string; code: number; calls: number }> = {
  before: { status: "cancelled", code: 130, calls: 1 },
  during: { status: "cancelled", code: 130, calls: 1 },
  "in onCompleted": { status: "cancelled", code: 130, calls: 1 },
  "after failed": { status: "failed", code: 1, calls: 0 },
  "after completed": { status: "completed", code: 0, calls: 0 },
};

async function cancelJob(project: string, way: Way, moment: Moment, times: number) {
  const env = { WAY: way, MOMENT: moment, TIMES: String(times) };
  const { child, printed, ended } = startKit(project, ["start"], env);
  if (way.startsWith("SIG")) {
    await printed(moment === "before" ? /^job /m : new RegExp(`^now ${moment}$`, "m"));
    for (let n = 0; n < times; n++) child.kill(way as NodeJS.Signals);
  }
  const { code, stdout, stderr } = await ended;
  const [, id = ""] = /^job (\S+)/m.exec(stdout) ?? [];
  const calls = stdout.match(/^onCancelled$/gm)?.length ?? 0;
  return { id, code, calls, stderr, status: createJobStore(project).get(id)?.job.status };
}

/** Each way and each moment has both; each pair of them has both in the long version only. */
function timesOf(way: Way, moment: Moment): number[] {
  if (LONGER > 1) return [1, 2];
  return [1 + ((WAYS.indexOf(way) + MOMENTS.indexOf(moment)) % 2)];
}

test.each(WAYS)("%s ends a job once, whenever and however often it comes", async (way) => {
  const harm = createHarm(`Cancelled by ${way}, once and twice`);
  const moments = MOMENTS.filter(
    // The process ends by itself then, at once.
    (moment) => !(moment === "after completed" && way.startsWith("SIG")),
  );
  const cases = Array.from({ length: LONGER }, () =>
    moments.flatMap((moment) => timesOf(way, moment).map((times) => ({ moment, times }))),
  ).flat();
  const work = cases.values();
  // Each in a project of its own, or they would wait for each other.
  const worker = async () => {
    for (const { moment, times } of work) {
      const project = createCancelProject();
      const { id, stderr, ...found } = await cancelJob(project, way, moment, times);
      harm.status({ moment, ...found }, { moment, ...EXPECTED[moment] });
      harm.also(
        stderr,
        moment === "after failed"
          ? expect.stringMatching(/^failed: no\n( {2}checkpoint {2}\S+\n)?( {2}at \S+\n)?$/)
          : "",
      );
      const damaged = damagedArtifacts(project, id);
      harm.row.lost += damaged.length;
      harm.also({ moment, damaged }, { moment, damaged: [] });
      const log = readFileSync(join(project, ".kit/jobs", id, "events.ndjson"), "utf8");
      const ends = log.match(/"training\.(cancelled|failed|completed)"/g) ?? [];
      harm.row.doubled += Math.max(0, ends.length - 1);
      harm.also(ends.at(-1), `"training.${found.status}"`);
    }
  };
  await Promise.all([worker(), worker()]);
  harm.expectNone();
});
