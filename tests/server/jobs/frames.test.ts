import { expect, test } from "vitest";
import { sharedFrames } from "../../../server/jobs/frames.ts";
import { parseFrames } from "../../uiServer.ts";

const OFFSET = 100;

/** The frames for one line of a log. */
function send(line: string) {
  const bytes = Buffer.from(`${line}\n`);
  const part = sharedFrames({ bytes, offset: OFFSET }, false);
  const end = OFFSET + bytes.length;
  if (part) expect(part.offset).toBe(end);
  const frames = parseFrames(String(part?.frames ?? ""));
  for (const { id } of frames) expect(id).toBe(String(end));
  return { data: frames.map(({ event, data }) => `${event} ${data}`), isLast: part?.isLast };
}

test.each([
  [
    '{"event":"training.started","data":{"model":"é 日 \\u2028"}}',
    'training.started {"model":"é 日 \u2028"}',
  ],
  ['{"event":"training.log","data":{"step":2,"loss":null}}', 'training.log {"step":2,"loss":null}'],
  ['{"event":"training.log","data":{"step":1e999}}', 'training.log {"step":null}'],
  ['{"event":"training.log","data":{"note":"\\"}}"}}', 'training.log {"note":"\\"}}"}'],
  ['{ "data": {"step":4}, "event": "training.log" }', 'training.log {"step":4}'],
  ['{"event":"training.log"}', "training.log {}"],
])("a record is one frame, however its line is written: %s", (line, frame) => {
  expect(send(line)).toEqual({ data: [frame], isLast: false });
});

test.each(['{"event":"end","data":{}}', '{"event":"unknown","data":{}}'])(
  "a record of an event that is not streamed has no frame, but moves the offset: %s",
  (line) => {
    expect(send(line)).toEqual({ data: [], isLast: false });
  },
);

test.each(["", "null", "7", '{"event":7}', '{"event":"training.log","data":{"st'])(
  "a line that is not a record is skipped: %j",
  (line) => {
    expect(send(line)).toEqual({ data: [], isLast: undefined });
  },
);

test.each(["completed", "failed", "cancelled"])("training.%s is in the last part", (end) => {
  expect(send(`{"event":"training.${end}","data":{}}`).isLast).toBe(true);
});

test("followers that are given the same bytes send the same buffer", () => {
  const lines = { bytes: Buffer.from('{"event":"training.log","data":{}}\n'), offset: 0 };
  const plain = sharedFrames({ ...lines }, false);
  expect(sharedFrames({ ...lines }, false)).toBe(plain);
  expect(sharedFrames({ ...lines }, true)).not.toBe(plain);
});

test.each([
  ['"time":"2026-06-01T12:00:00.000Z",', 'time "2026-06-01T12:00:00.000Z"'],
  ['"time":"a\\n\\nb",', 'time "a\\n\\nb"'],
  ["", undefined],
  ['"time":7,', undefined],
])("a record's time is the frame before it, without an id: %s", (time, frame) => {
  const bytes = Buffer.from(`{"event":"training.log",${time}"data":{"time":"its own"}}\n`);
  const frames = parseFrames(String(sharedFrames({ bytes, offset: 0 }, true)?.frames));
  const log = 'training.log {"time":"its own"}';
  expect(frames.map(({ event, data }) => `${event} ${data}`)).toEqual(frame ? [frame, log] : [log]);
  expect(frames.map(({ id }) => id)).toEqual([...(frame ? [undefined] : []), String(bytes.length)]);
});

test.each([
  '{"event":"checkpoint.evaluated","data":{"step":0,"metrics":{"accuracy":0.5}}}',
  '{"event":"checkpoint.evaluating","data":{"step":0,"answered":31,"rows":100}}',
])("what asking a model has shown is sent to pages alone: %s", (line) => {
  expect(send(line).data).toEqual([]);
  const part = sharedFrames({ bytes: Buffer.from(`${line}\n`), offset: 0 }, true);
  expect(parseFrames(String(part?.frames)).map(({ event }) => event)).toEqual([
    (JSON.parse(line) as { event: string }).event,
  ]);
});
