import { PAGE, pagesOf } from "../ops/operation.ts";

/** A page of the KV cache. Its content depends on its tokens and on all tokens before them. */
interface Block {
  page: number;
  /** Number of sequences that use it. */
  users: number;
  /** The previous block's id and the page's tokens. Undefined until the page is full. */
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
 * @param onUse called before a page is used; may throw
 */
export function createPagePool(count: number, maxIdle = count, onUse?: (page: number) => void) {
  // Pops low pages first, to touch no more memory than needed.
  const free = Array.from({ length: count }, (_, i) => count - 1 - i);
  /** Full blocks, by key. */
  const cachedBlocks = new Map<string, Block>();
  /** Least recently used first. */
  const idle = new Set<Block>();
  let lastId = 0;

  function allocate(): number | undefined {
    const page = free.at(-1);
    if (page !== undefined) {
      onUse?.(page);
      return free.pop();
    }
    const [oldest] = idle;
    return oldest && evict(oldest);
  }

  /** Removes an unused page from the cache. */
  function evict(block: Block): number {
    idle.delete(block);
    if (block.key !== undefined) cachedBlocks.delete(block.key);
    return block.page;
  }

  function release(block: Block): void {
    if (--block.users > 0) return;
    if (block.key === undefined || cachedBlocks.get(block.key) !== block) {
      free.push(block.page);
      return;
    }
    idle.add(block);
    const [oldest] = idle;
    if (idle.size > maxIdle && oldest) free.push(evict(oldest));
  }

  /**
   * @param tokens the prompt
   * @param model id of the model, at most 0, unlike a block's; only sequences of one model share pages
   * @returns the pages, and how many tokens they already hold: never all, because the last token's logits are needed
   */
  function begin(tokens: readonly number[], model = 0): { pages: SequencePages; cached: number } {
    const blocks: Block[] = [];
    /** Tokens of the last, incomplete page. */
    let rest: number[] = [];
    const last = () => blocks[Math.floor(length / PAGE) - 1];
    let length = 0;
    while (length + PAGE < tokens.length) {
      const block = cachedBlocks.get(
        keyOf(last()?.id ?? model, tokens.slice(length, length + PAGE)),
      );
      if (!block) break;
      idle.delete(block);
      block.users++;
      blocks.push(block);
      length += PAGE;
    }

    function grow(tokens: number): boolean {
      const { length: oldCount } = blocks;
      while (blocks.length < pagesOf(length + rest.length + tokens)) {
        const page = allocate();
        if (page === undefined) {
          for (const { page } of blocks.splice(oldCount)) free.push(page);
          return false;
        }
        blocks.push({ page, users: 1, key: undefined, id: ++lastId });
      }
      return true;
    }

    function read(tokens: readonly number[]): void {
      rest.push(...tokens);
      while (rest.length >= PAGE) {
        const key = keyOf(last()?.id ?? model, rest.slice(0, PAGE));
        const block = blocks[length / PAGE];
        if (block) block.key = key;
        const same = cachedBlocks.get(key);
        // Another sequence may have cached the same tokens meanwhile. Later keys then use that block's id.
        if (block && same) block.id = same.id;
        else if (block) cachedBlocks.set(key, block);
        length += PAGE;
        rest = rest.slice(PAGE);
      }
    }

    return {
      cached: length,
      pages: {
        grow,
        read,
        pages: () => blocks.map(({ page }) => page),
        release: () => blocks.splice(0).toReversed().forEach(release),
      },
    };
  }

  return { begin };
}

/** @param previousId of the previous block, or the model's id */
function keyOf(previousId: number, tokens: readonly number[]): string {
  return `${previousId} ${tokens.join()}`;
}
