import { expect, test } from "vitest";
import type { LogRecord } from "../../jobs/log/lines.ts";
import { OWNER_GONE, OWNER_SILENT, finalStatus, statusFromLease } from "../../jobs/status.ts";

function record(event: string, data: unknown = {}): LogRecord {
  return { event, time: "2026-01-01T00:00:00.000Z", data };
}

test("a job without a last event is unfinished, whatever else its log holds", () => {
  for (const event of ["training.started", "training.log", "checkpoint.saved", "end", "toString"])
    expect(finalStatus(record(event))).toBeUndefined();
});

test.each([null, undefined, {}, 7, { error: "No rows." }])(
  "a failed job is failed, whatever its last event says of why: %j",
  (data) => {
    expect(finalStatus(record("training.failed", data))?.status).toBe("failed");
  },
);

test("an unfinished job is queued, then running, while its lease is held", () => {
  expect(statusFromLease(false, "held")).toEqual({ status: "queued" });
  expect(statusFromLease(true, "held")).toEqual({ status: "running" });
});

test("a job that runs elsewhere stays running, last heard of, however its owner ended", () => {
  const heard = new Date("2026-03-07T12:00:00.000Z");
  expect(statusFromLease(true, "held", heard)).toEqual({ status: "running" });
  for (const lease of ["gone", "silent"] as const) {
    expect(statusFromLease(false, lease, heard)).toEqual({
      status: "running",
      lastHeardAt: "2026-03-07T12:00:00.000Z",
    });
  }
});

test("an unfinished job is failed, with a sentence, when its owner is gone or silent", () => {
  for (const hasStarted of [false, true]) {
    expect(statusFromLease(hasStarted, "gone")).toEqual({ status: "failed", error: OWNER_GONE });
    expect(statusFromLease(hasStarted, "silent")).toEqual({
      status: "failed",
      error: OWNER_SILENT,
    });
  }
});
