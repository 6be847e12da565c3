import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./files.mjs";

const PACKAGES = join(ROOT, "bench", "python", "requirements.txt");
/** Clients of kit serve. */
const CLIENTS = join(ROOT, "tests", "server", "serve", "requirements.txt");

/** The environments of `npm run python`, each with its folder and packages. Git ignores them. */
export const ENVIRONMENTS = {
  python: environment(".python", [PACKAGES, CLIENTS]),
  trackers: environment(".trackers", [join(ROOT, "tests", "trackers", "requirements.txt")]),
  ray: environment(".ray", [PACKAGES, join(ROOT, "tests", "engines", "ray", "requirements.txt")]),
};

function environment(name, lists) {
  const folder = join(ROOT, name);
  return {
    folder,
    lists,
    /** The path of one of its programs. */
    program: (name) =>
      process.platform === "win32"
        ? join(folder, "Scripts", `${name}.exe`)
        : join(folder, "bin", name),
    /** A file that records the lists from which the environment was made. */
    stamp: join(folder, "kit-requirements.txt"),
    currentLists: () => lists.map((list) => readFileSync(list, "utf8")).join(""),
  };
}

/** Whether an environment was made from the current lists. */
export function isComplete({ stamp, currentLists }) {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === currentLists();
}
