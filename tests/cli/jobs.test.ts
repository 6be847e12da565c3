import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMPLETED, STARTED, createJob, logOf, placeJob } from "../jobs.ts";
import { CLI, createTinyProject, runKit, startKit } from "../kit.ts";
import { createProject } from "../project.ts";

const ZONE = { TZ: "Asia/Tokyo" };

test("kit jobs lists what the page lists, newest first: status, id, local time and name", async () => {
  const project = createProject();
  const error = "no room";
  const jobs = [
    createJob(project, "日付 dates 🗓", [STARTED, COMPLETED]),
    createJob(project, "\u001b[31mred\u001b[0m", [
      STARTED,
      { event: "training.failed", data: { error } },
    ]),
    createJob(project, "a".repeat(120), [STARTED]),
    createJob(project, "later"),
  ].map(({ job, directory }) => ({ id: job.id, path: join(directory, "job.json") }));
  for (const [n, { path }] of jobs.entries()) {
    const file = JSON.parse(readFileSync(path, "utf8")) as object;
    const createdAt = `2026-11-2${n}T20:05:00.000Z`;
    writeFileSync(path, JSON.stringify({ ...file, createdAt }));
  }
  const { code, stdout, stderr } = await runKit(project, ["jobs"], ZONE);
  const [completed, failed, running, queued] = jobs.map(({ id }) => id);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toBe(`\
queued     ${queued}  2026-11-24 05:05  later
running    ${running}  2026-11-23 05:05  ${"a".repeat(120)}
failed     ${failed}  2026-11-22 05:05  \\u001b[31mred\\u001b[0m
completed  ${completed}  2026-11-21 05:05  日付 dates 🗓
`);
});

test("kit jobs says when a job that nobody follows last reported", async () => {
  const project = createProject();
  const job = createJob(project, "far", [STARTED]);
  placeJob(job);
  expect((await runKit(project, ["jobs"])).stdout).toMatch(/^running .*  far\n$/);
  job.close();
  const hourAgo = new Date(Date.now() - 3_600_000);
  utimesSync(logOf(job), hourAgo, hourAgo);
  expect((await runKit(project, ["jobs"])).stdout).toMatch(
    /^running .*  far  last reported 1 hour ago\n$/,
  );
});

test("kit jobs says on stderr that there are none, so that a script counts no line", async () => {
  const project = createProject();
  expect(await runKit(project, ["jobs"])).toEqual({
    code: 0,
    stdout: "",
    stderr: `no jobs in ${project} yet; kit start trains one\n`,
  });
});

test("a command whose output is lost says so and fails, unless nobody reads it", () => {
  const project = createTinyProject();
  const shell = (command: string) =>
    spawnSync("bash", ["-c", `"${process.execPath}" "${CLI}" ${command}`], { cwd: project });
  const sentence = /^kit: Cannot write the output: ENOSPC: .*, or free disk space\.\n$/;
  for (const command of ["start", "jobs", "--help"]) {
    const { status, stderr } = shell(`${command} > /dev/full`);
    expect([status, String(stderr)]).toEqual([1, expect.stringMatching(sentence)]);
  }
  const { status, stdout, stderr } = shell(`jobs | true; echo \${PIPESTATUS[0]}`);
  expect([status, String(stdout), String(stderr)]).toEqual([0, "0\n", ""]);
});

test("kit jobs of a user who may not read the jobs says so, not that there are none", async () => {
  const project = createProject();
  const file = join(createJob(project, "theirs", [STARTED]).directory, "job.json");
  chmodSync(file, 0o000);
  // As another user: without root's right to read every file.
  const within = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];
  const { code, stdout, stderr } = await startKit(project, ["jobs"], {}, within).ended;
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/^kit: Cannot read \S+\/job\.json: EACCES: .*\. Make it readable\.\n$/);
});
