import type { JobSummary } from "../../jobs/jobSummary.ts";
import { checkpointFolder } from "../../protocol/artifactPath.ts";
import type { DatasetConfig } from "../../protocol/dataset.ts";
import { formatCount, formatCounted, formatNumber } from "../../protocol/format.ts";
import { isRecord, omitUndefined } from "../../protocol/isRecord.ts";
import { printable } from "../../protocol/printable.ts";
import { type PushedModel, CARD_CHECKPOINT } from "../../protocol/push.ts";
import { type JobConfig, isPretrained } from "../../protocol/trainConfig.ts";
import { LENGTH_ARGUMENTS, TRAINING_ARGUMENTS } from "../../protocol/trainerOptions.ts";
import { VERSION } from "../../protocol/version.ts";
import { type Figure, TRAINING_LOSS } from "./figures.ts";
import { usage } from "./usage.ts";

/** What a card says. It names no path, no row and nothing of the environment. */
export interface CardFacts {
  repo: string;
  job: JobSummary;
  config: JobConfig;
  /** The checkpoint's step. */
  step: number;
  figures: readonly Figure[];
  model: PushedModel;
  /** A system message that all rows share. */
  system: string | undefined;
}

const KINDS = {
  adapter: { noun: "LoRA adapter", library: "peft", relation: "adapter" },
  model: { noun: "model", library: "transformers", relation: "finetune" },
  gguf: { noun: "GGUF file", library: "gguf", relation: "finetune" },
} as const;

/** A checkpoint's name in its card, unique to it. */
export function checkpointName({ job, step }: Pick<CardFacts, "job" | "step">): string {
  return `${job.id}/${checkpointFolder(step)}`;
}

/** A `README.md` for the hub, equal for equal facts. */
export function modelCard(facts: CardFacts): string {
  const { job, step, model, repo, system } = facts;
  const { noun } = KINDS[model.kind];
  return [
    frontMatter(facts),
    `# ${plain(job.name)}`,
    `A ${noun}, trained with Kit ${VERSION} from ${originOf(facts)}: ${objectiveOf(facts)}, ${formatCounted(step, "step")}.`,
    ...resultsOf(facts),
    "## Data",
    table(["", "Rows", "Fingerprint", "From"], dataRows(facts)),
    "## Options",
    table(["", ""], optionRows(facts.config)),
    "## Use",
    ...usage(repo, model, system),
    "",
  ].join("\n\n");
}

function originOf({ config, model: { base } }: CardFacts): string {
  if (base) return `[${base.repo}](https://huggingface.co/${base.repo})`;
  return isPretrained(config.model) ? "a model that is not on the hub" : "random weights";
}

function objectiveOf({ config: { objective, lora } }: CardFacts): string {
  const names = { sft: "supervised fine-tuning", dpo: "DPO on pairs", kto: "KTO on labels" };
  return names[objective?.type ?? "sft"] + (lora ? " with LoRA" : "");
}

/** The metadata that the hub reads. Each value is JSON, which YAML includes. */
function frontMatter(facts: CardFacts): string {
  const { repo, config, figures, model, job, step } = facts;
  const { base, kind, isDatasetPublic } = model;
  const { library, relation } = KINDS[kind];
  const name = printable(job.name);
  // What was measured at another checkpoint isn't this model's.
  const measured = figures.filter(
    (figure) => figure.name !== TRAINING_LOSS && figure.now.step === step,
  );
  const metrics = measured.map((figure) => ({ type: figure.name, value: figure.now.value }));
  const values = omitUndefined({
    base_model: base?.repo,
    base_model_relation: base && relation,
    library_name: library,
    license: base?.license,
    license_name: base?.licenseName,
    license_link: base?.licenseLink,
    pipeline_tag: "text-generation",
    datasets: isDatasetPublic ? [config.dataset.name] : undefined,
    tags: ["kit", config.objective?.type ?? "sft", ...(config.lora ? ["lora"] : [])],
    [CARD_CHECKPOINT]: checkpointName(facts),
    "model-index":
      metrics.length > 0 ? [{ name, results: [{ ...heldOut(repo), metrics }] }] : undefined,
  });
  const lines = Object.entries(values).map(([key, value]) => `${key}: ${yaml(value)}`);
  return ["---", ...lines, "---"].join("\n");
}

/** YAML 1.1 reads `1e-7` as a string, but not `1.0e-7`. */
function yaml(value: unknown): string {
  const stringOrExponent = /"(?:[^"\\]|\\.)*"|\b\d+(?=e[-+])/g;
  return JSON.stringify(value).replaceAll(stringOrExponent, (found, at: number, json: string) =>
    found.startsWith('"') || json[at - 1] === "." ? found : `${found}.0`,
  );
}

function heldOut(repo: string) {
  return {
    task: { type: "text-generation" },
    dataset: { name: "held-out rows", type: `${repo}-held-out` },
  };
}

function resultsOf({ figures, step }: CardFacts): string[] {
  if (figures.length === 0) return [];
  const at = ({ step: measuredAt, value }: Figure["now"], usual: number) =>
    formatNumber(value) + (measuredAt === usual ? "" : ` (step ${measuredAt})`);
  const rows = figures.map(({ name, first, now }) => [
    plain(name),
    first.step < now.step ? at(first, 0) : "–",
    at(now, step),
  ]);
  return ["## Results", table(["", "Before training, or first", `At step ${step}`], rows)];
}

function dataRows({ job: { data }, config, model }: CardFacts): string[][] {
  // Only the training dataset is known to be public.
  const from = (source: DatasetConfig) =>
    sourceOf(source, model.isDatasetPublic && source.name === config.dataset.name);
  const { rows, fingerprint = "–", evalRows, evalFingerprint = "–" } = data;
  const { dataset, evalDataset = dataset } = config;
  return [
    ["training", formatCount(rows ?? 0), fingerprint, from(dataset)],
    ...(evalRows === undefined
      ? []
      : [["held out", formatCount(evalRows), evalFingerprint, from(evalDataset)]]),
  ];
}

/** A public dataset's name; a private one's, and a file's, may say too much. */
function sourceOf({ type, name, path }: DatasetConfig, isPublic: boolean): string {
  if (type === "code") return "the project's code";
  if (type === "hub") {
    return isPublic ? `[${name}](https://huggingface.co/datasets/${name})` : "a dataset of the hub";
  }
  return Array.isArray(path) && path.length > 1 ? "local files" : "a local file";
}

/** The options that influence what the model learned. */
function optionRows(config: JobConfig): string[][] {
  const known = Object.entries({ ...TRAINING_ARGUMENTS, ...LENGTH_ARGUMENTS });
  const influential = known.filter(([, { onResume }]) => onResume === "other losses");
  const options = influential.map(([name]) => [name, config[name as keyof JobConfig]] as const);
  return [
    ["engine", config.engine.name],
    ...[...options, ...leaves("lora", config.lora), ...leaves("objective", config.objective)]
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [name, plain(String(value))]),
  ];
}

function leaves(name: string, options: unknown): [string, unknown][] {
  const entries = Object.entries(isRecord(options) ? options : {});
  return entries.map(([key, value]) => [`${name}.${key}`, value]);
}

/** Text without any meaning in Markdown. */
function plain(text: string): string {
  return printable(text).replaceAll(/[\\`*[\]<>|]/g, "\\$&");
}

function table(header: string[], rows: readonly string[][]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [header, header.map(() => "---"), ...rows].map(line).join("\n");
}
