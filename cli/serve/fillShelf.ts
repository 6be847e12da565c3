import type { Shelf } from "../../server/serve/shelf.ts";
import { LATEST } from "../findJob.ts";
import { BASE } from "../startingModel.ts";
import { followNewest } from "./followNewest.ts";
import { type ModelSource, type NamedModel, findNamed, jobModel } from "./namedModels.ts";

interface FillOptions {
  source: ModelSource;
  /** As the user named them. An empty list means the newest completed job. */
  named: readonly string[];
  /** Whether a job that completes later takes the place of the newest. */
  follows: boolean;
  onFollow: (model: NamedModel) => void;
  onError: (error: unknown) => void;
}

/**
 * Loads the named models.
 * @returns ends the following, if there is any
 * @throws KitError as `findNamed` and of models that cannot be loaded
 */
export async function fillShelf(shelf: Shelf, options: FillOptions): Promise<{ stop: () => void }> {
  const { source, onFollow, onError } = options;
  const words = options.named.length > 0 ? [...new Set(options.named)] : [LATEST];
  const all = new Map<string, { model: NamedModel; isFollowed: boolean }>();
  for (const word of words) {
    const model = await findNamed(source, word);
    const isFollowed = options.follows && word === LATEST;
    // The same job may be named twice.
    const known = all.get(model.served.id);
    all.set(model.served.id, { model, isFollowed: isFollowed || known?.isFollowed === true });
  }
  // The newer job takes a shared name.
  const inOrder = [...all.values()].toSorted(
    ({ model: a }, { model: b }) => a.served.created - b.served.created,
  );
  for (const { model } of inOrder) await put(shelf, model);
  const followed = inOrder.find(({ isFollowed }) => isFollowed)?.model;
  if (!followed?.job) return { stop: () => undefined };
  let current = followed;
  return followNewest({
    ...{ project: source.project, from: followed.job.id, onError },
    async onNewer(job) {
      const next = await jobModel(source, job);
      await put(shelf, next);
      shelf.retire(current.served.id);
      current = next;
      onFollow(next);
    },
  });
}

/** Serves a model under its names; a job's also as `latest`, and its base. */
async function put(shelf: Shelf, { served, names, job, base }: NamedModel): Promise<void> {
  // Never hidden by a job's name.
  const own = names.filter((name) => name === served.id || ![LATEST, BASE].includes(name));
  await shelf.put(served, [...new Set(own), ...(job ? [LATEST] : [])]);
  if (base) shelf.putUnopened(base, [BASE]);
}
