import type { EngineModel } from "../../protocol/engine.ts";

/** A model to serve, opened when it is first needed or before. */
export interface ServedModel {
  /** As answers name it. */
  id: string;
  /** Unix time, in seconds. */
  created: number;
  /** Requests that it answers at once, at most. The others wait. */
  atOnce: number;
  open: () => Promise<EngineModel>;
}

/** A model lent to a request. */
export interface Loan {
  served: ServedModel;
  model: EngineModel;
  /** To be called once. */
  giveBack: () => void;
  /** Reopens it for the next request, after its engine ended. */
  forget: () => void;
}

interface Held {
  served: ServedModel;
  opening: Promise<EngineModel> | undefined;
  loans: number;
  isRetired: boolean;
}

/** The served models, by name. A replaced model is closed once its last request ends. */
export interface Shelf {
  /** Opens a model and serves it under these names, which it takes over from other models. */
  put: (served: ServedModel, names: readonly string[]) => Promise<void>;
  /** As `put`, of a model that is opened when somebody asks for it. */
  putUnopened: (served: ServedModel, names: readonly string[]) => void;
  /** Takes all its names from a model. */
  retire: (id: string) => void;
  /** @returns undefined for a name that no model has */
  lend: (name: string) => Promise<Loan> | undefined;
  /** Each name, with the model's. */
  names: () => { name: string; served: ServedModel }[];
  /** Closes all models. */
  close: () => Promise<void>;
}

export function createShelf(): Shelf {
  const byName = new Map<string, Held>();
  const open = new Set<Held>();

  function modelOf(held: Held): Promise<EngineModel> {
    if (!held.opening) {
      open.add(held);
      const opening = held.served.open();
      held.opening = opening;
      // The next request tries again.
      opening.catch(() => (held.opening = undefined));
    }
    return held.opening;
  }

  async function close(held: Held): Promise<void> {
    open.delete(held);
    await held.opening?.then(
      (model) => model.close(),
      () => undefined,
    );
  }

  function closeIfUnused(held: Held): void {
    if (held.isRetired && held.loans === 0) close(held).catch(() => undefined);
  }

  function name(held: Held, names: readonly string[]): void {
    const before = new Set(names.map((each) => byName.get(each)));
    for (const each of names) byName.set(each, held);
    const named = new Set(byName.values());
    for (const each of before) {
      if (!each || named.has(each)) continue;
      each.isRetired = true;
      closeIfUnused(each);
    }
  }

  const hold = (served: ServedModel): Held => ({
    ...{ served, opening: undefined, loans: 0, isRetired: false },
  });

  return {
    async put(served, names) {
      const held = hold(served);
      await modelOf(held);
      name(held, names);
    },
    putUnopened: (served, names) => name(hold(served), names),
    retire(id) {
      for (const [each, held] of byName) {
        if (held.served.id !== id) continue;
        byName.delete(each);
        held.isRetired = true;
        closeIfUnused(held);
      }
    },
    lend(asked) {
      const held = byName.get(asked);
      if (!held) return undefined;
      held.loans++;
      const giveBack = () => {
        held.loans--;
        closeIfUnused(held);
      };
      const opening = modelOf(held);
      const forget = () => {
        if (held.opening === opening) held.opening = undefined;
      };
      return opening.then(
        (model) => ({ served: held.served, model, giveBack, forget }),
        (error: unknown) => {
          giveBack();
          throw error;
        },
      );
    },
    names: () => [...byName].map(([each, { served }]) => ({ name: each, served })),
    async close() {
      byName.clear();
      await Promise.all([...open].map(close));
    },
  };
}
