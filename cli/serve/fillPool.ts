import { basename } from "node:path";
import type { Engine, LoadOptions } from "../../protocol/engine.ts";
import { printable } from "../../protocol/printable.ts";
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
import type { ServedModel, ModelPool } from "../../server/serve/modelPool.ts";
import { MAX_CONCURRENT } from "../infer/answerLines.ts";
import { followNewest } from "./followNewest.ts";

interface FillOptions {
  project: ModelProject;
  /** The user's names for models. Empty: `latest`. */
  named: readonly string[];
  /** `engine` serves all models. Default: the one that trained each. */
  options: Omit<LoadOptions, "onNote"> & { engine: Engine | undefined };
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
export async function fillPool(pool: ModelPool, fill: FillOptions): Promise<{ stop: () => void }> {
  const { project, onFollow, onError } = fill;
  const words = fill.named.length > 0 ? [...new Set(fill.named)] : [LATEST];
  const all = new Map<string, { model: Served; isFollowed: boolean }>();
  for (const word of words) {
    const model = await serve(fill, findReference(project, word));
    if (word === LATEST) noteUnfinished(fill, model);
    const isFollowed = fill.follows && word === LATEST;
    // The same job may be named twice.
    const known = all.get(model.id);
    all.set(model.id, { model, isFollowed: isFollowed || known?.isFollowed === true });
  }
  // The newer job takes a shared name.
  const inOrder = [...all.values()].toSorted(({ model: a }, { model: b }) => a.created - b.created);
  for (const { model } of inOrder) await addModel(pool, fill, model);
  const from = inOrder.find(({ isFollowed }) => isFollowed)?.model.reference.job?.listed;
  if (!from) return { stop: () => undefined };
  let current = from.id;
  return followNewest({
    project: project.directory,
    from,
    onError,
    async onNewer({ id, name }) {
      // Jobs without a checkpoint are skipped, as at the start.
      if (!hasCheckpoint(project, { id })) return;
      await addModel(pool, fill, await serve(fill, findReference(project, id)));
      if (id !== current) pool.evict(current);
      current = id;
      onFollow(id, name);
    },
  });
}

type Served = ServedModel & { reference: ModelReference };

async function serve(
  { project, options }: FillOptions,
  reference: ModelReference,
): Promise<Served> {
  const { name, job } = reference;
  const trained = options.engine ? undefined : await engineOf(project, reference);
  const engine = trained ?? options.engine;
  const saved = job?.listed?.id ?? basename(reference.kind === "saved" ? reference.directory : "");
  return {
    reference,
    id: reference.kind === "saved" ? saved : name,
    created: Math.floor(Date.parse(job?.listed?.createdAt ?? new Date().toISOString()) / 1000),
    // The project's own engine handles one request at a time.
    maxConcurrent: trained ? 1 : MAX_CONCURRENT,
    open: () => openModel(project, reference, { ...options, engine }),
  };
}

/** Serves a model under its names; a job's also as `latest`, and the base of its adapter. */
async function addModel(pool: ModelPool, fill: FillOptions, served: Served): Promise<void> {
  const { id, reference } = served;
  const { kind, job } = reference;
  if (kind === "start" || !job?.listed) return pool.add(served, [id]);
  const { name } = job.listed;
  // A job's name must not hide these words.
  const own = [LATEST, BASE].includes(name) ? [id] : [id, name];
  await pool.add(served, [...new Set(own), LATEST]);
  if (job.config.lora) pool.addUnopened(await serve(fill, baseOf(reference)), [BASE]);
}

/** Notes that an unfinished job's checkpoint is served. */
function noteUnfinished({ project, follows }: FillOptions, { reference }: Served): void {
  const { id, name, status } = reference.job?.listed ?? {};
  if (status === undefined || status === "completed") return;
  const until = follows && status === "running" ? " until it completes" : "";
  project.onNote(
    `job ${id} ${printable(name ?? "")} is ${status}, not completed: serving its newest checkpoint${until}`,
  );
}
