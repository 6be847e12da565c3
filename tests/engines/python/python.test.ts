import { afterAll, beforeAll, describe } from "vitest";
import { describeEngine } from "../contract.ts";
import {
  type WarmPython,
  ENV,
  createPythonEngine,
  hasPython,
  startWarmPython,
} from "./environment.ts";

let warm: WarmPython;

describe.runIf(hasPython)("with Python", () => {
  beforeAll(async () => (warm = await startWarmPython()));
  afterAll(() => warm.close());

  describeEngine("python", () => createPythonEngine({ path: warm.path, env: ENV }));
});
