import { mount } from "@vue/test-utils";
import { expect, it } from "vitest";
import LossChart from "../../../src/components/LossChart.vue";

const points = [
  { step: 10, loss: 4.25 },
  { step: 20, loss: 0.123456 },
  { step: 30, loss: 1 },
];

it("draws one path in an SVG of 640 × 200", () => {
  const chart = mount(LossChart, { props: { points, logged: true } });
  const svg = chart.get("svg");
  expect(svg.attributes()).toMatchObject({ width: "640", height: "200", viewBox: "0 0 640 200" });
  expect(chart.findAll("svg *").map(({ element }) => element.tagName.toLowerCase())).toEqual([
    "path",
  ]);
  expect(chart.get("path").attributes("d")).toBe("M0 0L320 200L640 157.52");
});

it("describes the curve in words", () => {
  const chart = mount(LossChart, { props: { points, logged: true } });
  expect(chart.get("[role=img]").attributes("aria-label")).toBe(
    "Loss from step 10 to step 30: between 0.1235 and 4.25, last 1.",
  );
});

it("has the highest loss beside its top, the lowest beside its foot, and the last one elsewhere", () => {
  const chart = mount(LossChart, { props: { points, logged: true } });
  expect(chart.findAll(".figures div").map((figure) => figure.text())).toEqual([
    "max4.25",
    "min0.1235",
  ]);
  expect(chart.get(".panel-head .aside").text()).toBe("last 1");
  expect(chart.findAll(".steps span").map((step) => step.text())).toEqual(["step 10", "30"]);
});

it("says so until a training.log event has arrived", () => {
  const chart = mount(LossChart, { props: { points: [], logged: false } });
  expect(chart.get(".slot").text()).toBe("No training.log events yet.");
  expect(chart.find("svg").exists()).toBe(false);
});

it("says that no event had a loss, rather than that none arrived", () => {
  const chart = mount(LossChart, { props: { points: [], logged: true } });
  expect(chart.get(".slot").text()).toBe("No training.log event has a numeric loss yet.");
});
