import { PAGE, pagesOf } from "../ops/operation.ts";

/** A cached page, whose content depends on its tokens and all before them. */
interface Block {
  page: number;
  /** Number of sequences that use it. */
  users: number;
  /** Previous block's id and the page's tokens. Undefined until the page is full. */
  key: string | undefined;
  /** Prefix id; never reused, so a stale key can't match a recycled page. */
  id: number;
}

/** A sequence's pages of the KV cache, in order. */
export interface SequencePages {
  pages: () => number[];
  /**
   * Allocates pages for more tokens.
   * @returns false if there are too few; then nothing changes
   */
  grow: (tokens: number) => boolean;
  /** Records the tokens read, so that sequences with the same prefix can reuse their pages. */
  read: (tokens: readonly number[]) => void;
  /** Releases all pages. Idempotent. */
  release: () => void;
}

/**
 * Pages of the KV cache, shared by sequences with the same prefix. Unused pages are kept; the least recently used are
 * evicted first.
 * @param maxIdle maximum unused pages to keep
 */
export function createPagePool(count: number, maxIdle = count) {
  // Popped from the end: low pages first, to touch no more memory than needed.
  const free = Array.from({ length: count }, (_, i) => count - 1 - i);
  const full = new Map<string, Block>();
  /** Least recently used first. */
  const idle = new Set<Block>();
  let blocks = 0;

  function allocate(): number | undefined {
    const page = free.pop();
    if (page !== undefined) return page;
    const [oldest] = idle;
    return oldest && evict(oldest);
  }

  /** Removes an unused page from the cache. */
  function evict(block: Block): number {
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
    if (idle.size > maxIdle && oldest) free.push(evict(oldest));
  }

  /**
   * @param tokens the prompt
   * @param model id of the model, below 1; only sequences of one model share pages
   * @returns the pages, and the number of tokens cached there, always less than all, to compute the last one's logits
   */
  function begin(tokens: readonly number[], model = 0): { pages: SequencePages; cached: number } {
    const own: Block[] = [];
    /** Tokens of the last, incomplete page. */
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
        const page = allocate();
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
        // Another sequence may have read the same meanwhile; later blocks are cached under its id.
        if (block && same) block.id = same.id;
        else if (block) full.set(key, block);
        length += PAGE;
        rest = rest.slice(PAGE);
      }
    }

    return {
      cached: length,
      pages: {
        grow,
        read,
        pages: () => own.map(({ page }) => page),
        release: () => own.splice(0).toReversed().forEach(release),
      },
    };
  }

  return { begin };
}

/** @param before the previous block's id, or the model's */
function keyOf(before: number, tokens: readonly number[]): string {
  return `${before} ${tokens.join()}`;
}
