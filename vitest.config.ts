import { defineConfig, mergeConfig } from "vitest/config";
import { ARM_PROJECTS } from "./tests/arm/projects.ts";
import { LongestFirst } from "./tests/longestFirst.ts";
import { PATIENCE_MS } from "./tests/patience.ts";
import page from "./vite.config.ts";

const CLUSTER_TESTS = "tests/engines/ray/ray.test.ts";

export default mergeConfig(
  page,
  defineConfig({
    test: {
      // More than cores: tests mostly wait for processes.
      maxWorkers: 4,
      // A worker's files share modules and browser, so a test must restore both.
      isolate: false,
      // Helper threads would slow concurrent tests. An old Node may run them.
      env: { KIT_THREADS: "1", KIT_NODE_NOTE: "0" },
      sequence: { sequencer: LongestFirst },
      // Only for hanging tests: a busy machine with a slow disk takes half a minute to import torch.
      expect: { poll: { timeout: PATIENCE_MS } },
      testTimeout: 600_000,
      hookTimeout: 600_000,
      projects: [
        ...ARM_PROJECTS,
        {
          extends: true,
          test: {
            name: "node",
            include: ["tests/**/*.test.ts"],
            exclude: ["tests/arm/**", "tests/src/**", CLUSTER_TESTS],
            environment: "node",
            globalSetup: "scripts/freshBuild.mjs",
          },
        },
        {
          extends: true,
          test: {
            name: "cluster",
            include: [CLUSTER_TESTS],
            environment: "node",
            globalSetup: "scripts/freshBuild.mjs",
            // After all others: a Ray cluster needs every core.
            sequence: { groupOrder: 1 },
          },
        },
        {
          extends: true,
          test: {
            name: "page",
            include: ["tests/src/**/*.test.ts"],
            environment: "happy-dom",
            setupFiles: "tests/src/unmount.ts",
          },
        },
      ],
    },
  }),
);
