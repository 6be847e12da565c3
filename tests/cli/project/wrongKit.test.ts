import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { createTinyProject, runKit } from "../../kit.ts";
import { ROOT } from "../../packed.ts";

/** Packages that npm's registry could have under the name, each with the files of `node_modules/kit`. */
const OTHERS: Record<string, Record<string, string>> = {
  "with exports of its own": {
    "package.json": `{"name":"kit","version":"2.0.31","type":"module","exports":"./index.js"}`,
    "index.js": "export const flatten = 1;",
  },
  "with a command of its own": {
    "package.json": `{"name":"kit","bin":{"kit":"bin.js"},"main":"index.js"}`,
    "index.js": "module.exports = {};",
  },
  "with nothing to import": { "package.json": `{"name":"kit"}` },
};

const SENTENCE =
  /^kit: The "kit" package installed in \S+ is not this Kit but an unrelated package of the same name\. Install this one with: pnpm add kit@file:\S+\n$/;

function install(project: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries({ ...files, "../../pnpm-lock.yaml": "" })) {
    const path = join(project, "node_modules", "kit", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

test.each(Object.entries(OTHERS))(
  "a package kit that is another one says how to install this one: %s",
  async (_, files) => {
    const project = createTinyProject();
    install(project, files);
    for (const command of ["build", "start", "manifest"]) {
      const { code, stdout, stderr } = await runKit(project, [command]);
      const isManifest = command === "manifest";
      // The page shows it, and `kit manifest` sends it to the server.
      const said = isManifest ? (JSON.parse(stdout) as { error: string }).error : "";
      expect(isManifest ? `kit: ${said}\n` : stderr).toMatch(SENTENCE);
      expect(code).toBe(isManifest ? 0 : 1);
    }
  },
);

test.each(Object.entries(OTHERS))(
  "a bundle from before the other one was installed says so too: %s",
  async (_, files) => {
    const bundle = `import { createKit } from "kit"; export default createKit();`;
    const project = createTinyProject(undefined, { ".kit/build/index.mjs": bundle });
    install(project, files);
    const { code, stderr } = await runKit(project, ["start"]);
    expect(stderr).toMatch(SENTENCE);
    expect(code).toBe(1);
  },
);

/** Installs this Kit in a project as if it were another version, whose trainers have other keys. */
function installVersion(project: string, version: string, edit = (code: string) => code): void {
  const own = join(project, "node_modules", "kit");
  for (const name of ["package.json", "dist"]) {
    cpSync(join(ROOT, name), join(own, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(own, "node_modules"));
  for (const folder of ["chunks", "sdk"].map((name) => join(own, "dist", name))) {
    for (const name of readdirSync(folder).filter((file) => file.endsWith(".js"))) {
      const path = join(folder, name);
      const code = readFileSync(path, "utf8").replace(
        /VERSION = "[^"]+"/,
        `VERSION = "${version}"`,
      );
      writeFileSync(path, edit(code));
    }
  }
}

const { version: OWN } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  version: string;
};
const withOtherKeys = (code: string) => code.replaceAll("kit.trainer.", "kit.other.");
const withoutVersion = (code: string) => code.replace(/value: VERSION[$\d]*/, "value: true");

test.each([
  ["0.0.9", undefined, "0.0.9"],
  ["0.2.0", withOtherKeys, "0.2.0"],
  ["1.1.0", undefined, "1.1.0"],
  ["before versions were known", withoutVersion, "an older version"],
])(
  "a trainer of another version of Kit is refused in one sentence: %s",
  async (version, edit, named) => {
    const project = createTinyProject();
    installVersion(project, version, edit);
    const sentence = new RegExp(
      `^This is Kit ${OWN}, but the project's trainer uses ${named}\\. To run the project's own Kit, in its folder: npx --no kit; or install this one with: npm install kit@file:\\S+$`,
    );
    const { code, stdout, stderr } = await runKit(project, ["start"]);
    expect(stderr.replace(/^kit: |\n$/g, "")).toMatch(sentence);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    // The page shows it.
    const manifest = JSON.parse((await runKit(project, ["manifest"])).stdout) as { error: string };
    expect(manifest.error).toMatch(sentence);
  },
);

test("a trainer of another patch of the same version is not refused", async () => {
  const project = createTinyProject();
  installVersion(project, OWN.replace(/\d+$/, "99"));
  expect(await runKit(project, ["start"])).toMatchObject({ code: 0, stderr: "" });
});
