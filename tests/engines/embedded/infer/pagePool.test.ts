import { expect, test } from "vitest";
import { createRandom } from "../../../../engines/dataset/random.ts";
import { createPagePool } from "../../../../engines/embedded/infer/pagePool.ts";

const PAGE = 16;
const tokensOf = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i);

/** Reads tokens as a decoder does. */
function reading(pool: ReturnType<typeof createPagePool>, tokens: readonly number[]) {
  const { pages, cached } = pool.begin(tokens);
  expect(pages.grow(tokens.length - cached)).toBe(true);
  pages.read(tokens.slice(cached));
  return { pages, cached };
}

test("a sequence that begins as another did takes its full pages, also while that one goes on", () => {
  const pool = createPagePool(10);
  const first = reading(pool, tokensOf(40));
  expect(first.cached).toBe(0);
  const second = reading(pool, [...tokensOf(33), 99, 98]);
  expect(second.cached).toBe(2 * PAGE);
  expect(second.pages.pages().slice(0, 2)).toEqual(first.pages.pages().slice(0, 2));
  expect(second.pages.pages()[2]).not.toBe(first.pages.pages()[2]);
  const other = reading(pool, tokensOf(40, 1));
  expect(other.cached).toBe(0);
});

test("a sequence that another read whole still reads a token, for what follows it", () => {
  const pool = createPagePool(10);
  reading(pool, tokensOf(2 * PAGE)).pages.release();
  expect(pool.begin(tokensOf(2 * PAGE)).cached).toBe(PAGE);
  expect(pool.begin(tokensOf(2 * PAGE + 1)).cached).toBe(2 * PAGE);
});

test("tokens that begin alike further on, after another start, share nothing", () => {
  const pool = createPagePool(10);
  reading(pool, [...tokensOf(PAGE), ...tokensOf(PAGE, 500), 1]).pages.release();
  expect(pool.begin([...tokensOf(PAGE, 1), ...tokensOf(PAGE, 500), 1]).cached).toBe(0);
});

test("a page that nobody uses is given away when there is no other, the longest unused one first", () => {
  const pool = createPagePool(4);
  reading(pool, tokensOf(PAGE + 1)).pages.release();
  reading(pool, tokensOf(PAGE + 1, 100)).pages.release();
  const three = pool.begin(tokensOf(3 * PAGE, 200));
  expect(three.pages.grow(3 * PAGE)).toBe(true);
  expect(pool.begin(tokensOf(PAGE + 1)).cached).toBe(0);
  expect(pool.begin(tokensOf(PAGE + 1, 100)).cached).toBe(PAGE);
});

test("of a sequence that is over, the last pages go first: what it began with is found longest", () => {
  const pool = createPagePool(4);
  reading(pool, tokensOf(3 * PAGE + 1)).pages.release();
  expect(pool.begin(tokensOf(20, 500)).pages.grow(2 * PAGE)).toBe(true);
  expect(pool.begin(tokensOf(3 * PAGE + 1)).cached).toBe(2 * PAGE);
});

test("no more unused pages are kept than it is told", () => {
  const pool = createPagePool(10, 2);
  const starts = [0, 100, 200];
  for (const from of starts) reading(pool, tokensOf(PAGE + 1, from)).pages.release();
  const cached = starts.map((from) => pool.begin(tokensOf(PAGE + 1, from)).cached);
  expect(cached).toEqual([0, PAGE, PAGE]);
  const none = createPagePool(10, 0);
  reading(none, tokensOf(PAGE + 1)).pages.release();
  expect(none.begin(tokensOf(PAGE + 1)).cached).toBe(0);
});

test("where there is no page left, a sequence keeps what it has", () => {
  const pool = createPagePool(3);
  const first = reading(pool, tokensOf(2 * PAGE));
  const second = pool.begin(tokensOf(40, 100));
  expect(second.pages.grow(2 * PAGE)).toBe(false);
  expect(second.pages.pages()).toEqual([]);
  expect(second.pages.grow(PAGE)).toBe(true);
  first.pages.release();
  first.pages.release();
  expect(second.pages.grow(2 * PAGE)).toBe(true);
});

test("two sequences that read the same at once are found by what follows either", () => {
  const pool = createPagePool(20);
  const [one, two] = [tokensOf(PAGE), tokensOf(PAGE)].map((tokens) => {
    const { pages } = pool.begin(tokens);
    pages.grow(3 * PAGE);
    pages.read(tokens);
    return pages;
  });
  two?.read(tokensOf(PAGE, 50));
  one?.release();
  two?.release();
  expect(pool.begin([...tokensOf(PAGE), ...tokensOf(PAGE, 50), 1]).cached).toBe(2 * PAGE);
});

test.each([24, 3])(
  "no page has two owners that read different tokens, however sequences come and go: %i idle",
  (idle) => {
    const random = createRandom(1, "pool");
    const below = (count: number) => Math.floor(random.uniform() * count);
    const pool = createPagePool(24, idle);
    /** What lies in each page, as a decoder would have written it. */
    const written = new Map<number, string>();
    const open: { pages: ReturnType<typeof reading>["pages"]; tokens: number[] }[] = [];
    let shared = 0;
    for (let round = 0; round < 4000; round++) {
      if (open.length > 5 || (open.length > 0 && random.uniform() < 0.3)) {
        open.splice(below(open.length), 1)[0]?.pages.release();
        continue;
      }
      const tokens = Array.from({ length: 1 + below(70) }, (_, i) =>
        i < 20 * below(3) ? 0 : below(2),
      );
      const { pages, cached } = pool.begin(tokens);
      shared += cached;
      if (!pages.grow(tokens.length - cached)) {
        pages.release();
        continue;
      }
      pages.read(tokens.slice(cached));
      const list = pages.pages();
      expect(list.length).toBe(Math.ceil(tokens.length / PAGE));
      list.forEach((page, i) => {
        const content = tokens.slice(0, (i + 1) * PAGE).join();
        if (i * PAGE < cached) expect(written.get(page)).toBe(content);
        else written.set(page, content);
      });
      open.push({ pages, tokens });
      for (const { pages, tokens } of open) {
        pages.pages().forEach((page, i) => {
          expect(written.get(page)).toBe(tokens.slice(0, (i + 1) * PAGE).join());
        });
      }
    }
    expect(shared).toBeGreaterThan(500);
  },
);
