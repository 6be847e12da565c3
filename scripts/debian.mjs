// Installs programs that the tests need, from Debian packages where possible.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { run } from "./setup.mjs";
import { hasVulkan } from "./swiftshader.mjs";

/** The variable with each program's path, its usual names, and its Debian package. */
const PROGRAMS = [
  {
    variable: "CHROMIUM_PATH",
    names: ["chromium", "chromium-browser", "google-chrome"],
    debian: "chromium",
  },
  { variable: "NGINX_PATH", names: ["nginx"], debian: "nginx" },
  { variable: "IP_PATH", names: ["ip"], debian: "iproute2" },
  { variable: "JQ_PATH", names: ["jq"], debian: "jq" },
  { variable: "CURL_PATH", names: ["curl"], debian: "curl" },
  { variable: "FAKETIME_PATH", names: ["libfaketime.so.1"], debian: "libfaketime" },
];

/** On Debian, only root's PATH has `/usr/sbin`. */
const FOLDERS = [
  ...(process.env.PATH ?? "").split(delimiter),
  "/usr/sbin",
  "/usr/lib/x86_64-linux-gnu/faketime",
  "/usr/lib/aarch64-linux-gnu/faketime",
];

/** Installs missing programs and passes their paths to the tests. */
export function findPrograms() {
  install(PROGRAMS.filter((program) => !find(program)).map(({ debian }) => debian));
  if (!hasVulkan()) install(["libvulkan1"]);
  for (const program of PROGRAMS) {
    const path = find(program);
    if (path) process.env[program.variable] = path;
    else fail(program);
  }
}

function find({ variable, names }) {
  if (process.env[variable]) return process.env[variable];
  const paths = names.flatMap((name) => FOLDERS.map((folder) => join(folder, name)));
  return paths.find((path) => existsSync(path));
}

function install(packages) {
  const canInstall = process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
  if (packages.length === 0 || !canInstall) return;
  if (run("apt-get", "update") === 0) run("apt-get", "install", "-y", ...packages);
}

function fail({ variable, debian }) {
  console.error(`kit: the tests need ${debian}. Install it, or set ${variable} to the program.`);
  process.exit(1);
}
