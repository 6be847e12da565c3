import type { EngineModel } from "../../protocol/engine.ts";

export interface ServedModel {
  /** The model's name in answers. */
  id: string;
  /** Unix time, in seconds. */
  created: number;
  /** Maximum concurrent requests; the others wait. */
  maxConcurrent: number;
  open: () => Promise<EngineModel>;
  /** The model as `createTrainer` names it, to train on; undefined for a model without weights. */
  source?: () => string | undefined;
}

/** A model in use by a request. */
export interface AcquiredModel {
  served: ServedModel;
  model: EngineModel;
  /** To be called once. */
  release: () => void;
  /** Makes the next request reopen the model, after its engine died. */
  invalidate: () => void;
}

interface PooledModel {
  served: ServedModel;
  opening: Promise<EngineModel> | undefined;
  users: number;
  isEvicted: boolean;
}

/** The served models by name. An evicted model closes once its last request ends. */
export interface ModelPool {
  /** Opens a model and serves it under these names, replacing other models. */
  add: (served: ServedModel, names: readonly string[]) => Promise<void>;
  /** Like `add`, but opens the model on its first request. */
  addUnopened: (served: ServedModel, names: readonly string[]) => void;
  evict: (id: string) => void;
  /** @returns undefined for a name that no model has */
  acquire: (name: string) => Promise<AcquiredModel> | undefined;
  /** All names with their models. */
  names: () => { name: string; served: ServedModel }[];
  close: () => Promise<void>;
}

export function createModelPool(): ModelPool {
  const byName = new Map<string, PooledModel>();
  const opened = new Set<PooledModel>();

  function modelOf(entry: PooledModel): Promise<EngineModel> {
    if (!entry.opening) {
      opened.add(entry);
      const opening = entry.served.open();
      entry.opening = opening;
      // The next request tries again.
      opening.catch(() => (entry.opening = undefined));
    }
    return entry.opening;
  }

  async function close(entry: PooledModel): Promise<void> {
    opened.delete(entry);
    await entry.opening?.then(
      (model) => model.close(),
      () => undefined,
    );
  }

  function closeIfUnused(entry: PooledModel): void {
    if (entry.isEvicted && entry.users === 0) close(entry).catch(() => undefined);
  }

  function assignNames(entry: PooledModel, names: readonly string[]): void {
    const replaced = new Set(names.map((name) => byName.get(name)));
    for (const name of names) byName.set(name, entry);
    const named = new Set(byName.values());
    for (const old of replaced) {
      if (!old || named.has(old)) continue;
      old.isEvicted = true;
      closeIfUnused(old);
    }
  }

  const createEntry = (served: ServedModel): PooledModel => ({
    served,
    opening: undefined,
    users: 0,
    isEvicted: false,
  });

  return {
    async add(served, names) {
      const entry = createEntry(served);
      await modelOf(entry);
      assignNames(entry, names);
    },
    addUnopened: (served, names) => assignNames(createEntry(served), names),
    evict(id) {
      for (const [name, entry] of byName) {
        if (entry.served.id !== id) continue;
        byName.delete(name);
        entry.isEvicted = true;
        closeIfUnused(entry);
      }
    },
    acquire(name) {
      const entry = byName.get(name);
      if (!entry) return undefined;
      entry.users++;
      const release = () => {
        entry.users--;
        closeIfUnused(entry);
      };
      const opening = modelOf(entry);
      const invalidate = () => {
        if (entry.opening === opening) entry.opening = undefined;
      };
      return opening.then(
        (model) => ({ served: entry.served, model, release, invalidate }),
        (error: unknown) => {
          release();
          throw error;
        },
      );
    },
    names: () => [...byName].map(([name, { served }]) => ({ name, served })),
    async close() {
      byName.clear();
      await Promise.all([...opened].map(close));
    },
  };
}
