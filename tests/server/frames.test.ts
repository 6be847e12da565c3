import { expect, test } from "vitest";
import { parseRecord } from "../../jobs/log.ts";
import { STREAMED_EVENTS, isFinalEvent } from "../../protocol/event.ts";
import { toFrames } from "../../server/frames.ts";
import { createRandom } from "../faults/random.ts";
import { parseFrames } from "../uiServer.ts";

const TIMES = 2_000;
/** Every so often there is more than becomes text at once. */
const MANY_EVERY = 50;
const MANY_LINES = 1_000;

const LINES = [
  '{"event":"training.started","time":"2026-01-01T00:00:00.000Z","data":{"model":"é 日 \\u2028"}}',
  '{"event":"training.log","time":"2026-01-01T00:00:00.000Z","data":{"step":1,"loss":0.25}}',
  '{"event":"training.log","time":"2026-01-01T00:00:00.000Z","data":{"step":2,"loss":null,"gradNorm":1.5e-7}}',
  '{"event":"training.log","time":"2026-01-01T00:00:00.000Z","data":{"step":-0,"loss":1e21}}',
  '{"event":"training.log","time":"2026-01-01T00:00:00.000Z","data":{}}',
  '{"event":"training.log","time":"2026-01-01T00:00:00.000Z","data":{"step":1e999}}',
  '{"event":"training.log","time":"2026-01-01T00:00:00.000Z","data":{"note":"\\"}}","step":3}}',
  '{"event":"training.log","time":"2026","data":{"step":3}}',
  '{"event":"training.log"}',
  '{ "event": "training.log", "data": { "step": 4 } }',
  '{"event":"checkpoint.saved","time":"","data":{"step":5,"kind":"model","path":"artifacts"}}',
  '{"event":"training.failed","time":"","data":{"error":"Zeile\\nzwei"}}',
  '{"event":"training.cancelled","time":"","data":{"step":6}}',
  '{"event":"end","time":"","data":{}}',
  '{"event":7}',
  "",
  "null",
];
const LONG = `{"event":"training.failed","time":"","data":{"error":"${"é".repeat(40_000)}"}}`;

/** What the lines come to when each is parsed. */
function parsed(bytes: Buffer, offset: number) {
  const frames: { id: string; event: string; data: unknown }[] = [];
  let last: number | undefined;
  let isLast = false;
  for (let start = 0, end = 0; start < bytes.length; start = end) {
    end = bytes.indexOf("\n", start) + 1;
    const record = parseRecord(bytes.toString("utf8", start, end - 1));
    if (!record) continue;
    last = offset + end;
    isLast ||= isFinalEvent(record);
    if (!STREAMED_EVENTS.includes(record.event as never)) continue;
    const data: unknown = JSON.parse(JSON.stringify(record.data ?? {}));
    frames.push({ id: String(last), event: record.event, data });
  }
  return { frames, last, isLast };
}

test("what is sent is what parsing each line would give, whole or harmed", () => {
  const random = createRandom();
  const below = (count: number) => Math.floor(random() * count);
  for (let n = 0; n < TIMES; n++) {
    const isMuch = n % MANY_EVERY === 0;
    const count = 1 + below(isMuch ? MANY_LINES : 8);
    const lines = Array.from({ length: count }, () => LINES[below(LINES.length)]);
    if (isMuch) lines.splice(below(count), 0, LONG);
    const bytes = Buffer.from(`${lines.join("\n")}\n`);
    // The last newline stays: only whole lines are sent.
    if (n % 2 === 0 && bytes.length > 1) {
      const harm = [0x0a, 0x00, 0x22, 0x7d, 0x2c, 0x30, 0xff][below(7)] ?? 0;
      bytes[below(bytes.length - 1)] = harm;
    }
    const offset = below(1_000);
    const part = toFrames({ bytes, offset });
    const wanted = parsed(bytes, offset);
    const frames = parseFrames(part?.frames.toString() ?? "").map((frame) => ({
      ...frame,
      data: JSON.parse(frame.data ?? "") as unknown,
    }));
    expect(JSON.stringify(frames)).toBe(JSON.stringify(wanted.frames));
    expect(part?.offset).toBe(wanted.last);
    expect(part?.isLast ?? false).toBe(wanted.isLast);
  }
});

test("the last part is the one with the event that ends the job", () => {
  const part = (line: string) => toFrames({ bytes: Buffer.from(`${line}\n`), offset: 0 });
  for (const line of LINES) {
    expect(part(line)?.isLast ?? false).toBe(/training\.(completed|failed|cancelled)/.test(line));
  }
});
