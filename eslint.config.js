import { existsSync, readdirSync } from "node:fs";
import { builtinModules } from "node:module";
import { importX } from "eslint-plugin-import-x";
import vue from "eslint-plugin-vue";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

/** The folders that each folder may import: data flows one way. */
const ARROWS = {
  protocol: [],
  disk: ["protocol"],
  src: ["protocol"],
  engines: ["protocol", "disk"],
  jobs: ["protocol", "disk"],
  sdk: ["protocol", "engines", "jobs"],
  server: ["protocol", "disk", "jobs"],
  cli: ["protocol", "disk", "jobs", "sdk", "server"],
};

const FOLDERS = Object.keys(ARROWS);

function arrow(folder) {
  const allowed = [folder, ...ARROWS[folder]];
  return FOLDERS.filter((other) => !allowed.includes(other)).map((other) => ({
    target: `./${folder}`,
    from: `./${other}`,
    message: `${folder}/ may import only ${ARROWS[folder].join(", ") || "itself"}.`,
  }));
}

/** Names of types come first in a list. oxfmt sorts the imports themselves. */
const TYPES_FIRST = {
  groups: [["builtin", "external", "internal", "parent", "sibling", "index", "object", "unknown"]],
  named: { enabled: true, types: "types-first" },
};

/**
 * The folders of engines/ that all engines share; each may import those before it. Every other folder
 * there is an engine.
 */
const SHARED_FOLDERS = [
  ...["modelFiles", "hub", "dataset", "tokens", "answers", "examples", "objectives"],
  ...["families", "lora", "gguf", "checkpoint", "export", "training"],
];

/** A backend's folders; each may import those before it. */
const BACKEND_FOLDERS = ["device", "kernels", "ops", "model", "step", "train"];

const BACKENDS = readdirSync("engines").filter((engine) => existsSync(`engines/${engine}/ops`));

/** Forbids each folder to import a later one. */
function oneWay(parent, folders) {
  return folders.slice(1).map((folder, at) => ({
    target: folders.slice(0, at + 1).map((before) => `${parent}/${before}`),
    from: `${parent}/${folder}`,
    message: `The folders before ${folder}/ may not import it.`,
  }));
}

const ZONES = [
  {
    target: "./server/http/**",
    from: ["./{disk,jobs}/**", "./server/*.ts", "./server/!(http)/**"],
    message: "http/ knows nothing of what is served.",
  },
  {
    target: "./jobs/*.ts",
    from: "./jobs/remote",
    message: "Only remote/ knows how remote jobs are followed.",
  },
  {
    // Users' entry points call the driver of a job, which only knows their types.
    target: ["./sdk/job/**", "./sdk/validation/**"],
    from: [
      "./sdk/index.ts",
      "./sdk/kit.ts",
      "./sdk/models/load.ts",
      "./sdk/engines.ts",
      "./sdk/trainer.ts",
    ],
    message: "The driver of a job may not import what users call.",
  },
  {
    target: "./sdk/{models,metrics,validation}/**",
    from: "./sdk/job",
    message: "Models must work without the driver of a job.",
  },
  ...oneWay("./engines", SHARED_FOLDERS),
  ...BACKENDS.flatMap((engine) => oneWay(`./engines/${engine}`, BACKEND_FOLDERS)),
  {
    target: SHARED_FOLDERS.map((folder) => `./engines/${folder}/**`),
    from: `./engines/!(${SHARED_FOLDERS.join("|")})/**/*.{ts,json}`,
    message: "A folder that engines share may not import an engine.",
  },
  {
    target: ["./sdk/!(engine|engines).ts", "./sdk/*/**"],
    from: "./engines",
    message: "Only sdk/engine.ts and sdk/engines.ts may import engines.",
  },
];

const BROWSER_FILES = [
  "protocol/**/*.ts",
  "src/**/*.{ts,vue}",
  "engines/webgpu/device/!(dawn).ts",
  "engines/webgpu/{kernels,ops,model,step}/**/*.ts",
];
const NODE_MODULE = `^(node:.+|(${builtinModules.join("|")}))$`;
const RUNS_IN_BROWSER = "This folder also runs in a browser.";
/** Windows refuses them while another process has a file open. */
const BUSY_ON_WINDOWS = {
  name: "node:fs",
  importNames: ["renameSync", "rmSync"],
  message: "Use disk/move.ts.",
};
const OWN_NAME = { regex: "^kit$", message: "Inside Kit, import the file itself." };

/** A dynamic import() of a name that matches. */
function dynamicImport(regex, message) {
  return { selector: `ImportExpression[source.value=/${regex.replaceAll("/", "\\/")}/]`, message };
}

const NULL = {
  selector: "TSNullKeyword",
  message: "Use `undefined`; `null` is only for JSON and Node.",
};

const WINDOW = {
  selector:
    'CallExpression[callee.name=/^(spawn|spawnSync|fork|exec|execSync|execFile|execFileSync)$/]:not(:has(Property[key.name="windowsHide"]))',
  message: "Add windowsHide: true, or Windows opens a window.",
};

const packages = [
  {
    files: FOLDERS.map((folder) => `${folder}/**/*.{ts,vue}`),
    rules: {
      "no-restricted-imports": ["error", { patterns: [OWN_NAME], paths: [BUSY_ON_WINDOWS] }],
      "no-restricted-syntax": [
        "error",
        NULL,
        WINDOW,
        dynamicImport(OWN_NAME.regex, OWN_NAME.message),
      ],
    },
  },
  {
    files: BROWSER_FILES,
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: [OWN_NAME, { regex: NODE_MODULE, message: RUNS_IN_BROWSER }] },
      ],
      "no-restricted-syntax": [
        "error",
        NULL,
        dynamicImport(OWN_NAME.regex, OWN_NAME.message),
        dynamicImport(NODE_MODULE, RUNS_IN_BROWSER),
      ],
    },
  },
  { files: ["disk/move.ts"], rules: { "no-restricted-imports": "off" } },
];

export default defineConfig(
  { ignores: ["dist", "quickstart", "templates", "**/assembly"] },
  {
    files: ["**/*.{ts,vue}"],
    plugins: { "import-x": importX, "@typescript-eslint": tseslint.plugin },
    languageOptions: { parser: tseslint.parser },
    rules: {
      "import-x/no-restricted-paths": ["error", { zones: [...FOLDERS.flatMap(arrow), ...ZONES] }],
      "import-x/order": ["error", TYPES_FIRST],
      // A type by import("…") would bypass the arrows.
      "@typescript-eslint/consistent-type-imports": "error",
    },
  },
  packages,
  {
    files: ["**/*.vue"],
    extends: [tseslint.configs.recommendedTypeChecked, vue.configs["flat/recommended"]],
    languageOptions: {
      parserOptions: {
        parser: tseslint.parser,
        project: "./src/tsconfig.json",
        extraFileExtensions: [".vue"],
      },
    },
    rules: {
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/only-throw-error": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "vue/block-lang": ["error", { script: { lang: "ts" } }],
      "vue/component-api-style": "error",
      // Left to the formatter.
      "vue/html-indent": "off",
      "vue/max-attributes-per-line": "off",
      "vue/singleline-html-element-content-newline": "off",
      "vue/multiline-html-element-content-newline": "off",
      "vue/html-self-closing": "off",
      "vue/html-closing-bracket-newline": "off",
      eqeqeq: "error",
      "no-console": "error",
    },
  },
);
