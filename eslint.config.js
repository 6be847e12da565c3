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

const HOUSE = Object.keys(ARROWS);

function arrow(folder) {
  const allowed = [folder, ...ARROWS[folder]];
  return HOUSE.filter((other) => !allowed.includes(other)).map((other) => ({
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
 * The rooms of engines/ that every engine may use, each of which may import those before it; each
 * other folder there is an engine.
 */
const SHARED_ROOMS = [
  ...["modelFiles", "hub", "dataset", "tokens", "answers", "examples", "objectives"],
  ...["families", "lora", "gguf", "checkpoint", "export", "training"],
];

/** The rooms of the embedded engine that lead to a training; each may import those before it. */
const TO_TRAINING = ["kernels", "ops", "model", "step", "train"];

/** Of rooms in a line, none may import one that comes after it. */
function oneWay(folder, rooms) {
  return rooms.slice(1).map((room, at) => ({
    target: rooms.slice(0, at + 1).map((before) => `${folder}/${before}`),
    from: `${folder}/${room}`,
    message: `The rooms before ${room}/ may not import it.`,
  }));
}

const ROOMS = [
  {
    target: "./server/http/**",
    from: ["./{disk,jobs}/**", "./server/*.ts", "./server/!(http)/**"],
    message: "http/ knows nothing of what is served.",
  },
  {
    target: "./jobs/*.ts",
    from: "./jobs/remote",
    message: "Only remote/ knows who follows a job on other machines.",
  },
  {
    // What users import calls the driver of a job, which knows their types alone.
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
    message: "A model answers without the driver of a job.",
  },
  ...oneWay("./engines", SHARED_ROOMS),
  ...oneWay("./engines/embedded", TO_TRAINING),
  {
    target: SHARED_ROOMS.map((room) => `./engines/${room}/**`),
    from: `./engines/!(${SHARED_ROOMS.join("|")})/**/*.{ts,json}`,
    message: "A room that engines share may not import one of them.",
  },
  {
    target: ["./sdk/!(engine|engines).ts", "./sdk/*/**"],
    from: "./engines",
    message: "sdk/ imports engines in sdk/engine.ts and sdk/engines.ts alone.",
  },
];

const BROWSER_FILES = ["protocol/**/*.ts", "src/**/*.{ts,vue}"];
const NODE_MODULE = `^(node:.+|(${builtinModules.join("|")}))$`;
const RUNS_IN_BROWSER = "This folder also runs in a browser.";
const OWN_NAME = { regex: "^kit$", message: "Inside the house, import the file itself." };

/** A dynamic import() of a name that matches. */
function dynamicImport(regex, message) {
  return { selector: `ImportExpression[source.value=/${regex.replaceAll("/", "\\/")}/]`, message };
}

const NULL = {
  selector: "TSNullKeyword",
  message: "Say `undefined` for none. `null` is JSON's and Node's.",
};

const packages = [
  {
    files: HOUSE.map((folder) => `${folder}/**/*.{ts,vue}`),
    rules: {
      "no-restricted-imports": ["error", { patterns: [OWN_NAME] }],
      "no-restricted-syntax": ["error", NULL, dynamicImport(OWN_NAME.regex, OWN_NAME.message)],
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
];

export default defineConfig(
  { ignores: ["dist", "quickstart", "templates", "**/assembly"] },
  {
    files: ["**/*.{ts,vue}"],
    plugins: { "import-x": importX, "@typescript-eslint": tseslint.plugin },
    languageOptions: { parser: tseslint.parser },
    rules: {
      "import-x/no-restricted-paths": ["error", { zones: [...HOUSE.flatMap(arrow), ...ROOMS] }],
      "import-x/order": ["error", TYPES_FIRST],
      // A type by import("…") would go around the arrows.
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
      // The formatter's part.
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
