import { mount } from "@vue/test-utils";
import { expect, it } from "vitest";
import LossChart from "../../../src/components/LossChart.vue";

const points = [
  { step: 10, loss: 4.25 },
  { step: 20, loss: 0.123456 },
  { step: 30, loss: 1 },
];

it("draws one path in an SVG of 640 × 200", () => {
  const chart = mount(LossChart, { props: { points, hasLog: true } });
  const svg = chart.get("svg");
  expect(svg.attributes()).toMatchObject({ width: "640", height: "200", viewBox: "0 0 640 200" });
  expect(chart.findAll("svg *").map(({ element }) => element.tagName.toLowerCase())).toEqual([
    "path",
  ]);
  expect(chart.get("path").attributes("d")).toBe("M0 0L320 200L640 157.52");
});

it("describes the curve in words", () => {
  const chart = mount(LossChart, { props: { points, hasLog: true } });
  expect(chart.get("[role=img]").attributes("aria-label")).toBe(
    "Loss from step 10 to step 30: between 0.1235 and 4.25, last 1.",
  );
});

it("has round ticks at their places beside the curve", () => {
  const chart = mount(LossChart, { props: { points, hasLog: true } });
  const ticks = chart.findAll(".tick").map(({ element }) => {
    const at = Number((element as HTMLElement).style.getPropertyValue("--at"));
    return [element.textContent, Math.round(at * 1000) / 1000];
  });
  expect(ticks).toEqual([
    ["0.12", 0],
    ...[1, 2, 3, 4].map((loss) => [
      `${loss}`,
      Math.round(((loss - 0.123456) / 4.126544) * 1e3) / 1e3,
    ]),
    ...[10, 15, 20, 25, 30].map((step) => [`${step}`, (step - 10) / 20]),
  ]);
});

it("names the first, the lowest and the last loss", () => {
  const chart = mount(LossChart, { props: { points, hasLog: true } });
  expect(chart.findAll(".facts div").map((fact) => fact.text())).toEqual([
    "first4.25",
    "lowest, at step 200.1235",
    "last1",
  ]);
});

it("shows as many digits and separators as one needs to tell its values apart", () => {
  const narrow = [100.0001, 100.005, 100.0031].map((loss, n) => ({ step: 1_000 * (n + 1), loss }));
  const chart = mount(LossChart, { props: { points: narrow, hasLog: true } });
  expect(chart.findAll(".facts dd").map((fact) => fact.text())).toEqual([
    ...["100.0001", "100.0001", "100.0031"],
  ]);
  expect(chart.get("[role=img]").attributes("aria-label")).toBe(
    "Loss from step 1,000 to step 3,000: between 100.0001 and 100.005, last 100.0031.",
  );
});

it("says so until a training.log event has arrived", () => {
  const chart = mount(LossChart, { props: { points: [], hasLog: false } });
  expect(chart.get(".slot").text()).toBe("No training.log events yet.");
  expect(chart.find("svg").exists()).toBe(false);
});

it("says that no event had a loss, rather than that none arrived", () => {
  const chart = mount(LossChart, { props: { points: [], hasLog: true } });
  expect(chart.get(".slot").text()).toBe("No training.log event has a numeric loss yet.");
});
