import { mount } from "@vue/test-utils";
import { expect, it } from "vitest";
import { JOB_STATUSES } from "../../../protocol/job.ts";
import StatusBadge from "../../../src/components/StatusBadge.vue";

it("distinguishes the five statuses by word and shape, not by colour alone", () => {
  const badges = JOB_STATUSES.map((status) => mount(StatusBadge, { props: { status } }));
  expect(badges.map((badge) => badge.text())).toEqual([...JOB_STATUSES]);
  expect(new Set(badges.map((badge) => badge.get("path").attributes("d"))).size).toBe(5);
});
