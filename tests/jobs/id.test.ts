import { expect, test } from "vitest";
import { createJobId, isJobId, timeOfJobId } from "../../jobs/id.ts";

test("ids sort by the time they were made", () => {
  const times = [
    "2025-12-31T23:59:59.999Z",
    "2026-01-01T00:00:00.000Z",
    "2026-01-01T00:00:00.001Z",
  ];
  const ids = times.map((time) => createJobId(new Date(time)));
  expect(ids.toReversed().sort()).toEqual(ids);
  expect(ids[2]).toMatch(/^20260101-000000-001-[a-z0-9]{4}$/);
});

test("after the clock was set back an id still sorts after the newest one", () => {
  const before = createJobId(new Date("2026-01-01T00:00:00.999Z"));
  const after = createJobId(new Date("2025-06-01T12:00:00.000Z"), before);
  expect(after).toMatch(/^20260101-000001-000-[a-z0-9]{4}$/);
});

test.each(["", "no id", "20261399-996099-999-aaaa", "99991231-235959-999-aaaa"])(
  "after %j an id has the time of the clock",
  (newest) => {
    expect(createJobId(new Date("2026-01-01T00:00:00.000Z"), newest)).toMatch(
      /^20260101-000000-000-/,
    );
  },
);

test("an id says when its job was made", () => {
  const now = new Date("2026-01-01T23:59:59.123Z");
  expect(timeOfJobId(createJobId(now))).toEqual(now);
  expect(timeOfJobId("20261399-996099-999-aaaa")).toBeUndefined();
  expect(timeOfJobId("job")).toBeUndefined();
});

test("ids of one moment differ", () => {
  const now = new Date();
  const ids = Array.from({ length: 20 }, () => createJobId(now));
  expect(new Set(ids).size).toBeGreaterThan(10);
});

test.each([
  "",
  ".",
  "..",
  "../20261121-095830-123-k3f9",
  "20261121-095830-123-k3f9/..",
  "20261121-095830-123-k3f9\n",
  "20261121-095830-123-k3f9\0",
  "20261121-095830-123-K3F9",
  "20261121-095830-123-k3f",
  "٢٠٢٦١١٢١-٠٩٥٨٣٠-١٢٣-k3f9",
  "__proto__",
])("%j is no job id", (name) => {
  expect(isJobId(name)).toBe(false);
});
