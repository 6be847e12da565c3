import { expect, test } from "vitest";
import { takeJob } from "../../../jobs/remote/takeJob.ts";
import { STARTED, createJob, leaveJob, placeJob } from "../../jobs.ts";
import { spawnModule } from "../../process.ts";
import { createProject } from "../../project.ts";

const PROCESSES = 4;
const ROUNDS = 12;

test("of several processes that take a job at the same moment, one gets it", async () => {
  const project = createProject();
  const racers = Array.from({ length: PROCESSES }, () =>
    spawnModule(
      `const { takeJob } = await dist("jobs/remote/takeJob.js");
       const { createInterface } = await import("node:readline");
       console.log("ready");
       for await (const line of createInterface(process.stdin)) {
         const [id, at] = line.split(" ");
         while (Date.now() < Number(at));
         const taken = await takeJob(process.argv[1], id).catch((error) => error);
         console.log(taken.job ? "won" : taken.code);
       }`,
      [project],
    ),
  );
  for (const { line } of racers) expect(await line()).toBe("ready");
  for (let round = 0; round < ROUNDS; round++) {
    const owned = createJob(project, "far", [STARTED]);
    placeJob(owned);
    leaveJob(owned);
    const at = Date.now() + 20;
    for (const { child } of racers) child.stdin?.write(`${owned.job.id} ${at}\n`);
    const results = await Promise.all(racers.map(({ line }) => line()));
    expect(results.toSorted()).toEqual([...Array<string>(PROCESSES - 1).fill("JOB_TAKEN"), "won"]);
  }
});

test("a job whose owner is there is not taken, and says by whom", async () => {
  const project = createProject();
  const owned = createJob(project, "far", [STARTED]);
  placeJob(owned);
  await expect(takeJob(project, owned.job.id)).rejects.toThrow(
    new RegExp(`^Process ${process.pid} on .* follows job `),
  );
});
