import { PAGE, pagesOf } from "../ops/operation.ts";

/** The keys and values of a page, which depend on its tokens and on all before them. */
interface Block {
  page: number;
  /** Sequences that use it. */
  users: number;
  /** What finds it again: the block before and the page's tokens. Undefined until it is full. */
  key: string | undefined;
  /** Of the tokens up to its last: never given twice, so that no key leads to a page that was given away. */
  id: number;
}

/** Where a sequence's keys and values lie, one page after another. */
export interface SequencePages {
  pages: () => number[];
  /**
   * Takes the pages of `tokens` more.
   * @returns whether there were enough; if not, it has those of before
   */
  grow: (tokens: number) => boolean;
  /** Says which tokens were read, so that sequences that begin alike can use their pages. */
  read: (tokens: readonly number[]) => void;
  /** Gives all pages back. Idempotent. */
  release: () => void;
}

/**
 * Pages that sequences share: one that begins as another did takes the pages that are there. A page that
 * nobody uses is kept for a while, the longest unused ones go first.
 * @param mostIdle limit of unused pages to keep
 */
export function createPagePool(count: number, mostIdle = count) {
  // Taken from the end: the first pages first, so that no more memory is touched than is needed.
  const free = Array.from({ length: count }, (_, i) => count - 1 - i);
  const full = new Map<string, Block>();
  /** In the order in which they were last used. */
  const idle = new Set<Block>();
  let blocks = 0;

  function take(): number | undefined {
    const page = free.pop();
    if (page !== undefined) return page;
    const [oldest] = idle;
    return oldest && drop(oldest);
  }

  /** Forgets what an unused page has. */
  function drop(block: Block): number {
    idle.delete(block);
    if (block.key !== undefined) full.delete(block.key);
    return block.page;
  }

  function release(block: Block): void {
    if (--block.users > 0) return;
    if (block.key === undefined || full.get(block.key) !== block) {
      free.push(block.page);
      return;
    }
    idle.add(block);
    const [oldest] = idle;
    if (idle.size > mostIdle && oldest) free.push(drop(oldest));
  }

  /**
   * @param tokens that it will read
   * @param model number of the model, below 1: sequences share pages only within a model
   * @returns the pages, and how many of the tokens they have: fewer than all, for the last one's logits
   */
  function begin(tokens: readonly number[], model = 0): { pages: SequencePages; known: number } {
    const own: Block[] = [];
    /** Tokens of the last page that is not full. */
    let rest: number[] = [];
    const last = () => own[Math.floor(length / PAGE) - 1];
    let length = 0;
    while (length + PAGE < tokens.length) {
      const block = full.get(keyOf(last()?.id ?? model, tokens.slice(length, length + PAGE)));
      if (!block) break;
      idle.delete(block);
      block.users++;
      own.push(block);
      length += PAGE;
    }

    function grow(tokens: number): boolean {
      const before = own.length;
      while (own.length < pagesOf(length + rest.length + tokens)) {
        const page = take();
        if (page === undefined) {
          for (const { page } of own.splice(before)) free.push(page);
          return false;
        }
        own.push({ page, users: 1, key: undefined, id: ++blocks });
      }
      return true;
    }

    function read(tokens: readonly number[]): void {
      rest.push(...tokens);
      while (rest.length >= PAGE) {
        const key = keyOf(last()?.id ?? model, rest.slice(0, PAGE));
        const block = own[length / PAGE];
        if (block) block.key = key;
        const same = full.get(key);
        // Another sequence may have read the same at the same time: what follows is found by its block.
        if (block && same) block.id = same.id;
        else if (block) full.set(key, block);
        length += PAGE;
        rest = rest.slice(PAGE);
      }
    }

    return {
      known: length,
      pages: {
        ...{ grow, read, pages: () => own.map(({ page }) => page) },
        release: () => own.splice(0).toReversed().forEach(release),
      },
    };
  }

  return { begin };
}

/** @param before the block's id, or the model's number */
function keyOf(before: number, tokens: readonly number[]): string {
  return `${before} ${tokens.join()}`;
}
