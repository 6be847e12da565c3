import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { RayOptions } from "../../../protocol/engineOptions.ts";
import { describeEngine } from "../contract.ts";
import { createScratch } from "../scratch.ts";
import { describeAnswers } from "./answers.ts";
import { describeArtifacts, describeKept } from "./artifacts.ts";
import { describeAttaching } from "./attaching.ts";
import {
  type Place,
  type RayCluster,
  PYTHON,
  TOKEN,
  createRayEngine,
  hasRay,
  startCluster,
} from "./environment.ts";
import { describeForging } from "./forging.ts";
import { describeLosses } from "./losses.ts";
import { describeRealWeights } from "./realWeights.ts";
import { describeSharing } from "./sharing.ts";
import { train } from "./training.ts";
import { describeYielding } from "./yielding.ts";

let cluster: RayCluster;
const scratch = createScratch();

describe.runIf(hasRay)("with Ray", () => {
  const storage = scratch.directory();
  const createEngine = (options: RayOptions = {}) =>
    createRayEngine({ address: cluster.address, token: TOKEN, storage, ...options });
  const at = (): Place => ({ cluster, scratch, storage, createEngine });

  beforeAll(async () => {
    // Answers are this machine's.
    vi.stubEnv("KIT_PYTHON", PYTHON);
    vi.stubEnv("OMP_NUM_THREADS", "1");
    cluster = await startCluster();
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await cluster.close();
    scratch.remove();
  });

  describeEngine("ray", createEngine, { concurrent: true });
  describe("the ray engine's cluster", { concurrent: true }, () => {
    describeSharing(at);
    describeForging(at);
    describeArtifacts(at);
  });
  describe("a job of the ray engine", () => {
    describeAttaching(at);
    describeKept(at);
    describeAnswers(at);
    describeRealWeights(at);
  });
  // One after another, until nothing is left of the cluster.
  describe("the ray engine's losses", () => {
    it("says in a sentence what it cannot reach, or may not use", async () => {
      const other = createServer((_, answer) => answer.end("hello")).listen(0, "127.0.0.1");
      onTestFinished(() => void other.close());
      await once(other, "listening");
      const { port } = other.address() as AddressInfo;
      const refusals = [
        [{ address: "http://127.0.0.1:1" }, "CLUSTER_UNREACHABLE", /^No usable response from http/],
        [{ address: `http://127.0.0.1:${port}` }, "CLUSTER_UNFIT", / is not Ray\. Use /],
        [{ token: undefined }, "CLUSTER_REFUSED", / needs a token\. Set RAY_AUTH_TOKEN/],
        [{ token: "f".repeat(32) }, "CLUSTER_REFUSED", / refuses the token\. Set /],
        [
          { storage: undefined },
          "CLUSTER_UNFIT",
          /^Workers need shared checkpoint storage: .* has 2 nodes\./,
        ],
      ] as [RayOptions, string, RegExp][];
      // Which may have a token of its user.
      const home = process.env["HOME"];
      vi.stubEnv("HOME", scratch.directory());
      onTestFinished(() => void vi.stubEnv("HOME", home));
      for (const [options, code, message] of refusals) {
        const { error } = await train(createEngine(options), scratch);
        expect(error).toMatchObject({ name: "KitError", code });
        expect(error?.message).toMatch(message);
        expect(error?.message).not.toContain("f".repeat(32));
      }
    });

    describeYielding(at);
    describeLosses(at);
  });
});
