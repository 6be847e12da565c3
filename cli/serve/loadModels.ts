import { basename } from "node:path";
import { readPlan } from "../../jobs/jobFile.ts";
import { createJobStore } from "../../jobs/store.ts";
import type { Engine, LoadOptions } from "../../protocol/engine.ts";
import { printable } from "../../protocol/printable.ts";
import { isPretrained } from "../../protocol/trainConfig.ts";
import { createDefaultEngine } from "../../sdk/engine.ts";
import { findArtifact } from "../../sdk/models/artifact.ts";
import { engineOf, openModel } from "../../sdk/models/open.ts";
import {
  type ModelProject,
  type ModelReference,
  BASE,
  LATEST,
  baseOf,
  findReference,
  hasCheckpoint,
} from "../../sdk/models/reference.ts";
import type { TunedModel } from "../../server/serve/fineTuning/fineTuning.ts";
import type { ServedModel, ModelPool } from "../../server/serve/modelPool.ts";
import { MAX_CONCURRENT } from "../infer/answerLines.ts";
import { followNewest } from "./followNewest.ts";

interface LoadModelsOptions {
  project: ModelProject;
  /** The user's names for models. Empty: `latest`. */
  modelNames: readonly string[];
  /** Models by their aliases. Default: none. */
  aliases?: ReadonlyMap<string, string> | undefined;
  /** `engine` serves all models. Default: the one that trained each. */
  loadOptions: Omit<LoadOptions, "onNote"> & { engine: Engine | undefined };
  /** Whether a job that completes later replaces `latest`. */
  follows: boolean;
  /** Called with the id and name of the job that is now served as `latest`. */
  onFollow: (id: string, name: string) => void;
  onError: (error: unknown) => void;
}

/**
 * Loads the named models.
 * @returns a function that stops following newer jobs
 * @throws KitError as `findReference` throws, and if a model cannot be loaded
 */
export async function loadModels(
  pool: ModelPool,
  options: LoadModelsOptions,
): Promise<{ stop: () => void }> {
  const { project, onFollow, onError } = options;
  const { aliases = new Map<string, string>() } = options;
  const named = [...options.modelNames, ...aliases.values()];
  const names = named.length > 0 ? [...new Set(named)] : [LATEST];
  const models = new Map<string, { model: ServedReference; isFollowed: boolean }>();
  const aliasesOf = new Map<string, string[]>();
  for (const name of names) {
    const model = await toServed(options, referenceOf(project, name));
    const ownAliases = [...aliases].flatMap(([alias, target]) => (target === name ? [alias] : []));
    aliasesOf.set(model.id, [...(aliasesOf.get(model.id) ?? []), ...ownAliases]);
    if (name === LATEST) noteUnfinished(options, model.reference);
    const isFollowed = options.follows && name === LATEST;
    // The same job may be named twice.
    const earlier = models.get(model.id);
    models.set(model.id, { model, isFollowed: isFollowed || earlier?.isFollowed === true });
  }
  // The newer job takes a shared name.
  const oldestFirst = [...models.values()].toSorted((a, b) => a.model.created - b.model.created);
  for (const { model } of oldestFirst) {
    await addModel(pool, options, model, aliasesOf.get(model.id));
  }
  const from = oldestFirst.find(({ isFollowed }) => isFollowed)?.model.reference.job?.listed;
  if (!from) return { stop: () => undefined };
  let current = from.id;
  return followNewest({
    project: project.directory,
    from,
    onError,
    async onNewer({ id, name }) {
      // Jobs without a checkpoint are skipped, as at the start.
      if (!hasCheckpoint(project, { id })) return;
      await addModel(pool, options, await toServed(options, findReference(project, id)));
      if (id !== current) pool.evict(current);
      current = id;
      onFollow(id, name);
    },
  });
}

/** Loads all of its models on one thread, so that adapters of one base share its weights. */
let sharedEngine: Engine | undefined;

type ServedReference = ServedModel & { reference: ModelReference };

/** Resolves a name. `latest` prefers the project's own jobs to those that API callers created. */
function referenceOf(project: ModelProject, name: string): ModelReference {
  const reference = findReference(project, name);
  const { directory } = reference.job ?? {};
  if (![LATEST, BASE].includes(name) || directory === undefined || !readPlan(directory))
    return reference;
  const jobs = createJobStore(project.directory);
  const ownJob = jobs
    .list()
    .find((job) => !readPlan(jobs.directoryOf(job.id)) && hasCheckpoint(project, job));
  if (!ownJob) return reference;
  const latest = findReference(project, ownJob.id);
  return name === BASE ? baseOf(latest) : latest;
}

async function toServed(
  { project, loadOptions }: Pick<LoadModelsOptions, "project" | "loadOptions">,
  reference: ModelReference,
): Promise<ServedReference> {
  const { name, job } = reference;
  const projectEngine = loadOptions.engine ? undefined : await engineOf(project, reference);
  const engine = projectEngine ?? loadOptions.engine ?? (sharedEngine ??= createDefaultEngine());
  const saved = job?.listed?.id ?? basename(reference.kind === "saved" ? reference.directory : "");
  return {
    reference,
    id: reference.kind === "saved" ? saved : name,
    created: Math.floor(Date.parse(job?.listed?.createdAt ?? new Date().toISOString()) / 1000),
    // The project's own engine handles one request at a time.
    maxConcurrent: projectEngine ? 1 : MAX_CONCURRENT,
    open: () => openModel(project, reference, { ...loadOptions, engine }),
    source: () => sourceOf(reference),
  };
}

/** A model as the option `model` of `createTrainer` names it; undefined for one without weights. */
function sourceOf(reference: ModelReference): string | undefined {
  if (reference.kind === "saved") return findArtifact(reference.directory);
  const { model } = reference.job?.config ?? { model: reference.name };
  return isPretrained(model) ? model : undefined;
}

/**
 * Serves a fine-tuned model once a request names it.
 * @param directory of the job whose result it is, or of a checkpoint
 */
export async function addTuned(
  pool: ModelPool,
  options: Pick<LoadModelsOptions, "project" | "loadOptions">,
  { name, directory, createdAt }: TunedModel,
): Promise<void> {
  const reference: ModelReference = { kind: "saved", name, directory, job: undefined };
  const created = Math.floor(Date.parse(createdAt) / 1000);
  pool.addUnopened({ ...(await toServed(options, reference)), id: name, created }, [name]);
}

/** Serves a model under its names; a job's also as `latest`, and the base of its adapter. */
async function addModel(
  pool: ModelPool,
  options: LoadModelsOptions,
  served: ServedReference,
  aliases: readonly string[] = [],
): Promise<void> {
  const { id, reference } = served;
  const { kind, job } = reference;
  if (kind === "base" || !job?.listed) return pool.add(served, [id, ...aliases]);
  const { name } = job.listed;
  // A job's name must not replace `latest` or `base`, nor may an API caller choose a name.
  const isHidden = [LATEST, BASE].includes(name) || readPlan(job.directory) !== undefined;
  const names = isHidden ? [id] : [id, name];
  await pool.add(served, [...new Set(names), LATEST, ...aliases]);
  if (job.config.lora) pool.addUnopened(await toServed(options, baseOf(reference)), [BASE]);
}

/** Notes that an unfinished job's checkpoint is served. */
function noteUnfinished({ project, follows }: LoadModelsOptions, { job }: ModelReference): void {
  const { id, name, status } = job?.listed ?? {};
  if (status === undefined || status === "completed") return;
  const until = follows && status === "running" ? " until it completes" : "";
  project.onNote(
    `job ${id} ${printable(name ?? "")} is ${status}, not completed: serving its newest checkpoint${until}`,
  );
}
