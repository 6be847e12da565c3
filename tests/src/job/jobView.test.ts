import { describe, expect, it } from "vitest";
import { MAX_POINTS } from "../../../protocol/curve.ts";
import type { StreamFrame } from "../../../src/api/jobStream.ts";
import { type StreamEvent, advance, EMPTY_JOB_VIEW } from "../../../src/job/jobView.ts";

function frame(event: StreamFrame["event"], data: unknown, id: number | "" = ""): StreamFrame {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return { event, data: text, id: String(id), at: NaN };
}

const log = (step: number, loss: unknown, id: number | "" = "") =>
  frame("training.log", { step, loss }, id);

const after = (...streamEvents: StreamEvent[]) => advance(EMPTY_JOB_VIEW, streamEvents);

describe("a job's view", () => {
  it("writes a line for a start, a log, a checkpoint and a stream error, and for nothing else", () => {
    const view = after(
      frame("training.started", '{"model": "kit/nano"}', 10),
      log(1, 2.5, 20),
      frame("checkpoint.saved", '{"step":1}', 30),
      "stream error",
      frame("training.completed", { artifacts: [] }, 40),
    );
    expect(view.lines).toEqual([
      '[started] {"model": "kit/nano"}',
      "[log] step=1 loss=2.5",
      '[checkpoint] {"step":1}',
      "[stream error]",
    ]);
  });

  it("keeps the last 50 lines across batches", () => {
    const first = after(...Array.from({ length: 45 }, (_, step) => log(step, 1)));
    const second = advance(first, [
      log(45, 1),
      log(46, 1),
      ...Array<StreamEvent>(10).fill("stream error"),
    ]);
    expect(first.lines).toHaveLength(45);
    expect(second.lines).toHaveLength(50);
    expect(second.lines[0]).toBe("[log] step=7 loss=1");
    expect(advance(second, Array<StreamEvent>(500).fill("stream error")).lines).toHaveLength(50);
  });

  it("counts data of several lines as several lines", () => {
    const view = after(...Array<StreamEvent>(60).fill(frame("training.started", "a\nb")));
    expect(view.lines).toHaveLength(50);
    expect(view.lines.slice(-2)).toEqual(["[started] a", "b"]);
  });

  it("charts only a numeric, finite loss and shows any other as n/a", () => {
    const view = after(
      log(1, 0),
      log(2, null),
      log(3, "1"),
      frame("training.log", '{"step":4,"loss":1e999}'),
      frame("training.log", { step: 5 }),
    );
    expect(view.points).toEqual([{ step: 1, loss: 0 }]);
    expect(view.lines).toEqual([
      "[log] step=1 loss=0",
      ...[2, 3, 4, 5].map((step) => `[log] step=${step} loss=n/a`),
    ]);
    expect(view.hasLog).toBe(true);
  });

  it("keeps a bounded curve, with every spike, however long the job", () => {
    let view = EMPTY_JOB_VIEW;
    for (let step = 0; step < 100_000; step += 1_000) {
      const frames = Array.from({ length: 1_000 }, (_, index) => log(step + index, 1));
      frames[7] = log(step + 7, step === 5_000 ? 9 : 1);
      view = advance(view, frames);
      expect(view.points.length).toBeLessThanOrEqual(MAX_POINTS);
    }
    expect(view.points).toContainEqual({ step: 5_007, loss: 9 });
    expect(view.points.at(-1)).toEqual({ step: 99_999, loss: 1 });
  });

  it("applies a record once, whatever is replayed", () => {
    const first = [frame("training.started", {}, 10), log(1, 4, 20), log(2, 3, 30)];
    const view = advance(after(...first), [...first, log(3, 2, 40)]);
    expect(view.points.map(({ step }) => step)).toEqual([1, 2, 3]);
    expect(view.lines).toHaveLength(4);
  });

  it("does not go back to running when the start of a finished job is replayed", () => {
    const first = [frame("training.started", {}, 10), frame("training.failed", { error: "x" }, 20)];
    expect(advance(after(...first), [first[0]!]).status).toBe("failed");
  });

  it("applies a final event without a record, which repeats the last id", () => {
    const view = after(log(1, 4, 20), frame("training.failed", { error: "gone" }, 20));
    expect(view).toMatchObject({ status: "failed", error: "gone" });
  });

  it("withdraws a presumed failure when the owner is back", () => {
    const silent = frame("training.failed", { error: "silent" }, 20);
    const before = after(frame("training.started", {}, 10), log(1, 4, 20));
    const failed = advance(before, [silent]);
    expect(failed).toMatchObject({ status: "failed", error: "silent" });
    const back = advance(failed, ["owner back"]);
    expect(back).toEqual(before);
    // Presumed twice, as after a reconnection, it is still withdrawn as a whole.
    expect(advance(failed, [silent, "owner back"])).toEqual(before);
    expect(advance(EMPTY_JOB_VIEW, [frame("training.failed", {}), "owner back"])).toEqual(
      EMPTY_JOB_VIEW,
    );
  });

  it("counts the artifacts that a record leaves out, too", () => {
    const completed = frame("training.completed", { artifacts: [1, 2], omitted: 699 }, 20);
    expect(after(completed).progress.artifacts).toBe(701);
  });

  it("lets the job's own end outrank a presumed failure, before and after it", () => {
    const silent = frame("training.failed", { error: "silent" }, 20);
    const completed = frame("training.completed", { artifacts: [1] }, 30);
    for (const order of [
      [log(1, 4, 20), silent, completed],
      [log(1, 4, 20), completed, { ...silent, id: "30" }],
      [log(1, 4, 20), silent, completed, "owner back"] as const,
    ]) {
      expect(after(...order)).toMatchObject({
        ...{ status: "completed", error: "" },
        progress: { artifacts: 1 },
      });
    }
    const failed = frame("training.failed", { error: "its own" }, 30);
    for (const order of [
      [silent, failed, "owner back"] as const,
      // Replayed from the beginning by a new connection.
      [failed, "owner back", failed] as const,
    ]) {
      expect(after(...order)).toMatchObject({ status: "failed", error: "its own" });
    }
  });

  it("accepts events without an id", () => {
    expect(after(log(1, 4), log(2, 3)).points).toHaveLength(2);
  });

  it.each([
    [{ error: "a sentence" }, "a sentence"],
    [{ error: { message: "inside" } }, "inside"],
    [{ message: "beside" }, "beside"],
    ["not JSON", "not JSON"],
  ])("finds the failure's message in %j", (data, message) => {
    expect(after(frame("training.failed", data)).error).toBe(message);
  });

  it("survives malformed data", () => {
    const names = ["training.started", "training.log", "checkpoint.saved", "training.completed"];
    const bad = ["", "{", "null", "[]", '"text"', "7"];
    const frames = names.flatMap((name) =>
      bad.map((data) => frame(name as StreamFrame["event"], data)),
    );
    const view = after(...frames);
    expect(view.points).toEqual([]);
    expect(view.progress.artifacts).toBeUndefined();
    expect(view.lines).toContain("[log] step=n/a loss=n/a");
    expect(view.status).toBe("completed");
  });
});
