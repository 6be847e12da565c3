/** The oldest versions that run Kit. Bun and Deno name a Node, too: the one whose API they have. */
const OLDEST = { bun: [1, 4], deno: [2, 9], node: [20, 19] } as const;
const NAMES = { bun: "Bun", deno: "Deno", node: "Node" } as const;

/** The first Node with relaxed SIMD. Those before are past their end of life. */
const FIRST_FAST = 22;

type Versions = Partial<Record<keyof typeof OLDEST, string>>;

/** Why this version runs no Kit, as a sentence. Pure. @param versions as `process.versions` */
export function oldRuntime(versions: Versions): string | undefined {
  const runtime = runtimeOf(versions);
  const [major, minor] = OLDEST[runtime];
  const [ownMajor, ownMinor] = numbersOf(versions[runtime]);
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return undefined;
  return `${NAMES[runtime]} ${versions[runtime]} is too old. Install ${major}.${minor} or later.`;
}

/** What a newer Node would bring, as a sentence. Pure. @param versions as `process.versions` */
export function slowRuntime(versions: Versions): string | undefined {
  if (runtimeOf(versions) !== "node" || numbersOf(versions.node)[0] >= FIRST_FAST) return undefined;
  return `Node ${versions.node} is past its end of life, and trains at half the speed of Node 24 (the quickstart on x64: 43,000 and 86,000 tokens a second). Install Node 24 or later.`;
}

function runtimeOf({ bun, deno }: Versions): keyof typeof OLDEST {
  if (bun !== undefined) return "bun";
  return deno === undefined ? "node" : "deno";
}

function numbersOf(version = ""): [major: number, minor: number] {
  const [major, minor] = version.split(".").map(Number);
  return [major ?? 0, minor ?? 0];
}
