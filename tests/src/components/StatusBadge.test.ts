import { mount } from "@vue/test-utils";
import { expect, it } from "vitest";
import { JOB_STATUSES } from "../../../protocol/job.ts";
import StatusBadge from "../../../src/components/StatusBadge.vue";

it("tells the five statuses apart by a word and by a shape, not by a colour alone", () => {
  const badges = JOB_STATUSES.map((status) => mount(StatusBadge, { props: { status } }));
  expect(badges.map((badge) => badge.text())).toEqual([...JOB_STATUSES]);
  expect(new Set(badges.map((badge) => badge.get("path").attributes("d"))).size).toBe(5);
});
