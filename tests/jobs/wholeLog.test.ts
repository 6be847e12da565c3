import { execFileSync } from "node:child_process";
import { statSync, truncateSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readWholeLog } from "../../jobs/wholeLog.ts";
import { STARTED, appendRaw, createJob, logOf, logged } from "../jobs.ts";
import { createProject } from "../project.ts";

const BUILT = fileURLToPath(new URL("../../dist/jobs/wholeLog.js", import.meta.url));

test("a log longer than Node reads at once is read to its end", () => {
  const job = createJob(createProject(), "long", [STARTED, logged(1)]);
  // A hole in the file, which is no record and takes no room.
  truncateSync(logOf(job), statSync(logOf(job)).size + 2 ** 31);
  appendRaw(job, "\n");
  job.append(logged(2));
  const events = [...readWholeLog(job.directory)].map(({ event }) => event);
  expect(events).toEqual(["training.started", "training.log", "training.log"]);
});

test("a log that can't be opened is an error, and not a log without records", () => {
  const { directory } = createJob(createProject(), "some", [STARTED, logged(1)]);
  const program = `
    import { openSync } from "node:fs";
    const { readWholeLog } = await import(${JSON.stringify(BUILT)});
    try { for (;;) openSync("/dev/null"); } catch {}
    try { console.log([...readWholeLog(${JSON.stringify(directory)})].length); }
    catch ({ code, message }) { console.log(code, message); }`;
  const limited = 'ulimit -n 64; exec "$0" --input-type=module -e "$1"';
  const said = execFileSync("sh", ["-c", limited, process.execPath, program], { encoding: "utf8" });
  expect(said).toMatch(
    /^CANNOT_READ Cannot read \S+events\.ndjson: EMFILE: .*\. Make it readable\.$/m,
  );
});

test("a job without a log has no records", () => {
  expect([...readWholeLog(createProject())]).toEqual([]);
});
