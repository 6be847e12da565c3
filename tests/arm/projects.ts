import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type PoolOptions, ForksPoolWorker } from "vitest/node";

const ARM = new URL("../../.arm/", import.meta.url);

/** Tests whose results depend on the processor, in `tests/engines/embedded/`. */
const ALL = [
  // On any number of threads; sums of quantized numbers to the bit.
  "kernels/*",
  // Logits and a short training of each family.
  "model/parity",
  // Answers in each type.
  "infer/quantize",
];
/** The same instructions on an older Node. */
const SAMPLE = ["model/parity"];

/** Node for Linux arm64, on an emulator, by its major version. */
export const ARM_NODES = [
  { major: 24, tests: ALL },
  { major: 22, tests: SAMPLE },
].map(({ major, tests }) => ({
  major,
  program: fileURLToPath(new URL(`node${major}`, ARM)),
  include: tests.map((name) => `tests/engines/embedded/${name}.test.ts`),
}));

/** Projects of vitest, if `npm run arm` has installed what they need. */
export const ARM_PROJECTS = existsSync(new URL("kit-packages.txt", ARM))
  ? [
      projectOf("arm64", { include: ["tests/arm/*.test.ts"] }),
      ...ARM_NODES.map(({ major, program, include }) =>
        projectOf(`arm64 node${major}`, { include, pool: poolOf(program) }),
      ),
    ]
  : [];

function projectOf(name: string, options: { include: string[]; pool?: ReturnType<typeof poolOf> }) {
  const globalSetup = "scripts/freshBuild.mjs";
  return { extends: true as const, test: { name, environment: "node", globalSetup, ...options } };
}

/** Test workers that another Node runs. */
function poolOf(program: string) {
  return {
    name: program,
    createPoolWorker(options: PoolOptions) {
      const worker = new ForksPoolWorker(options);
      const start = worker.start.bind(worker);
      // It forks this process's program before it returns.
      worker.start = () => {
        const own = process.execPath;
        process.execPath = program;
        const started = start();
        process.execPath = own;
        return started;
      };
      return worker;
    },
  };
}
