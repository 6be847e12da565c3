import { Readable } from "node:stream";
import { expect, it, onTestFinished, vi } from "vitest";
import { type FollowOptions, follow } from "../../../engines/ray/follow.ts";
import type { Remote, RemoteStatus } from "../../../engines/ray/rayJobs.ts";
import { KitError } from "../../../protocol/error.ts";
import { createHarm } from "../../faults/harm.ts";

const LOST_MS = 1_200;
const lineOf = (seq: number, more: object = { type: "note", text: `${seq}` }) =>
  `${JSON.stringify({ kit: 1, seq, ...more })}\n`;
const JOB = { id: "kit-1", secret: undefined };
const LAST = { type: "done" };

it.concurrent("takes each message once and in order, however the log breaks, and no beats", async () => {
  const whole = [1, 2, 3, 4].map((seq) => lineOf(seq)).join("") + lineOf(5, LAST);
  const remote = remoteOf([
    { log: whole.slice(0, -lineOf(5, LAST).length - 4) },
    { log: `${lineOf(1)}a library's words\n${lineOf(2)}`, breaks: true },
    { log: lineOf(1) + lineOf(2) + lineOf(3) + lineOf(4, { type: "beat" }) + lineOf(5, LAST) },
  ]);
  expect(await seqsOf(remote)).toEqual([1, 2, 3, 5]);
});

it.concurrent("takes no line without the job's secret, which no text that a library prints can know", async () => {
  const secret = { secret: "s" };
  const own = (seq: number, more: object) => lineOf(seq, { ...secret, ...more });
  const forged = { event: "training.log", data: { step: 1, loss: 0.0001 } };
  const log = [
    own(1, { type: "note", text: "1" }),
    lineOf(2, { type: "event", event: forged }),
    lineOf(2, { ...LAST, secret: "guessed" }),
    // Would be taken for a gap.
    lineOf(9, LAST),
    own(2, { type: "failed", code: "WORKER_FAILED", message: "it broke" }),
  ].join("");
  const types: string[] = [];
  const job = { id: "kit-1", ...secret };
  for await (const { type } of follow(remoteOf([{ log }]), job, new AbortController().signal)) {
    types.push(type);
  }
  const harm = createHarm("Ray: messages forged in a job's log");
  harm.status(types.at(-1), "failed");
  harm.events(types, ["note", "failed"]);
  harm.expectNone();
});

it.concurrent("follows a job of an older Kit, which has no secret", async () => {
  expect(await seqsOf(remoteOf([{ log: lineOf(1) + lineOf(2, LAST) }]))).toEqual([1, 2]);
});

it.concurrent("asks again for a line that is lost on the way, while the job runs and after it", async () => {
  const whole = [1, 2, 3].map((seq) => lineOf(seq)).join("") + lineOf(4, LAST);
  for (const phase of ["running", "ended"] as const) {
    const remote = remoteOf([
      { log: lineOf(1) + lineOf(3) + lineOf(4, LAST), status: { phase } },
      // Another one.
      { log: lineOf(1) + lineOf(2) + lineOf(4, LAST), status: { phase } },
      { log: whole, status: { phase } },
    ]);
    expect(await seqsOf(remote)).toEqual([1, 2, 3, 4]);
  }
});

it.concurrent("says that a line is missing when a second reading lacks it, too", async () => {
  const seqs: number[] = [];
  const remote = remoteOf([{ log: lineOf(1) + lineOf(3) + lineOf(4, LAST) }]);
  await expect(seqsOf(remote, seqs)).rejects.toMatchObject({
    code: "WORKER_FAILED",
    message:
      "The log of job kit-1 on a remote lacks message 2. Run npx kit start --resume to continue from the last checkpoint.",
  });
  expect(seqs).toEqual([1]);
});

it.concurrent("says that a job ended without a last message, by Ray's own words", async () => {
  const status: RemoteStatus = { phase: "ended", message: "Killed.\nat once" };
  const remote = remoteOf([{ log: lineOf(1), status }]);
  await expect(seqsOf(remote)).rejects.toThrow(
    /^Job kit-1 on a remote ended unexpectedly: Killed\. See its log there: ray job logs kit-1\.$/,
  );
});

it.concurrent("fails a placed job that is unknown only if its own cluster says so", async () => {
  const unknown = [{ status: { phase: "unknown" } as const }];
  const endAt = (session?: string) =>
    endOf(seqsOf(remoteOf([...unknown], session), [], { submittedTo: { session: "a" } }));
  for (const session of [undefined, "b"]) {
    expect(await endAt(session)).toMatchObject({
      code: "CANNOT_FOLLOW",
      message: expect.stringMatching(
        /^Another cluster answers at far\. Reconnect the original/,
      ) as string,
    });
  }
  expect(await endAt("a")).toMatchObject({ code: "WORKER_FAILED" });
  const unheard = seqsOf(remoteOf([...unknown]), [], { submittedTo: { session: undefined } });
  expect(await endOf(unheard)).toMatchObject({ code: "CANNOT_FOLLOW" });
});

it.concurrent("reads the log of a job that succeeded again, if its end is missing", async () => {
  const status = { phase: "ended", hasSucceeded: true, message: "Job finished." } as const;
  const late = remoteOf([
    { log: "<html>", status },
    { log: lineOf(1, LAST), status },
  ]);
  expect(await seqsOf(late)).toEqual([1]);
  const began = performance.now();
  await expect(seqsOf(remoteOf([{ log: lineOf(1), status }]))).rejects.toThrow(
    "Job kit-1 on a remote ended unexpectedly: Job finished. See its log there: ray job logs kit-1.",
  );
  expect(performance.now() - began).toBeGreaterThan(LOST_MS);
});

it.concurrent("leaves a remote that hangs at once", async () => {
  const abort = new AbortController();
  const remote = remoteOf([]);
  remote.status = (_, signal) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
      abort.abort(new Error("left"));
    });
  await expect(follow(remote, JOB, abort.signal).next()).rejects.toThrow("left");
});

it.concurrent("forgives silence for a while, and then says that contact is lost", async () => {
  const unreachable = new KitError("CLUSTER_UNREACHABLE", "nothing answers");
  const [back, gone] = [
    [{ status: unreachable }, { log: lineOf(1, LAST) }],
    [{ log: lineOf(1) }, { status: unreachable }],
  ].map((parts) => endOf(seqsOf(remoteOf(parts))));
  expect(await back).toEqual([1]);
  expect(await gone).toMatchObject({
    code: "CLUSTER_UNREACHABLE",
    message: expect.stringMatching(/^Lost contact with a remote/) as string,
  });
});

it.concurrent("loses contact with a log that cannot be read, of a job that runs or has ended", async () => {
  for (const phase of ["running", "ended"] as const) {
    const remote = remoteOf([
      { log: lineOf(1), breaks: true, status: { phase, message: "Done." } },
    ]);
    expect(await endOf(seqsOf(remote))).toMatchObject({
      code: "CLUSTER_UNREACHABLE",
      message: expect.stringContaining("for two minutes (reset)") as string,
    });
  }
  const silent = remoteOf([{ log: `<html>\n${lineOf(1, { type: "beat" })}` }]);
  expect(await endOf(seqsOf(silent))).toMatchObject({ code: "CLUSTER_UNREACHABLE" });
});

it("counts no sleep as silence: a laptop may sleep before, and between, attempts that hear nothing", async () => {
  let slept = 0;
  for (const clock of [Date, performance]) {
    const now = clock.now.bind(clock);
    vi.spyOn(clock, "now").mockImplementation(() => now() + slept);
  }
  onTestFinished(() => void vi.restoreAllMocks());
  const unreachable = new KitError("CLUSTER_UNREACHABLE", "nothing answers");
  const silence = [1, 2, 3].map(() => ({ status: unreachable }));
  const remote = remoteOf([{ log: lineOf(1) }, ...silence, { log: lineOf(2, LAST) }]);
  const { status } = remote;
  let asked = 0;
  remote.status = (id) => {
    if ([2, 4].includes(++asked)) slept += 3_600_000;
    return status(id);
  };
  expect(await seqsOf(remote, [], { lostMs: undefined })).toEqual([1, 2]);
});

it("loses contact after two minutes of attempts, however long each takes", async () => {
  let passed = 0;
  const remote = remoteOf([{ log: lineOf(1) }]);
  const { status } = remote;
  let asked = 0;
  remote.status = (id) => {
    if (++asked === 1) return status(id);
    passed += 29_500;
    return Promise.reject(new KitError("CLUSTER_UNREACHABLE", "nothing answers"));
  };
  const now = () => passed;
  const lost = await endOf(seqsOf(remote, [], { lostMs: undefined, now }));
  expect(lost).toMatchObject({ code: "CLUSTER_UNREACHABLE" });
  // One hears nothing, and four more take two minutes.
  expect(asked).toBe(1 + 1 + 5);
});

interface Part {
  log?: string;
  /** Whether the connection breaks after it. */
  breaks?: boolean;
  status?: RemoteStatus | KitError;
}

/** Answers with one part after another; the last one stays. */
function remoteOf(parts: Part[], session?: string): Remote {
  let part: Part = {};
  return {
    name: "a remote",
    address: "far",
    session: () => Promise.resolve(session),
    status() {
      part = parts.shift() ?? part;
      if (part.status instanceof KitError) return Promise.reject(part.status);
      return Promise.resolve(part.status ?? { phase: "running" });
    },
    log: () => Readable.from(bytesOf(part)),
  } as Partial<Remote> as Remote;
}

function* bytesOf({ log = "", breaks = false }: Part) {
  yield Buffer.from(log);
  if (breaks) throw new Error("reset");
}

async function seqsOf(
  remote: Remote,
  seqs: number[] = [],
  more: Pick<FollowOptions, "submittedTo" | "lostMs" | "now"> = {},
): Promise<number[]> {
  const { signal } = new AbortController();
  const options = { lostMs: LOST_MS, ...more };
  for await (const { seq } of follow(remote, JOB, signal, options)) seqs.push(seq);
  return seqs;
}

async function endOf(work: Promise<unknown>): Promise<unknown> {
  return work.catch((thrown: unknown) => thrown);
}
