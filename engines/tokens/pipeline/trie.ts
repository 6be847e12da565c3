interface Node {
  /** By the next UTF-16 unit. */
  next: Map<number, Node>;
  isEnd: boolean;
}

/** Finds which of these texts, except empty ones, start at a given position of another text. */
export function createTrie(texts: Iterable<string>) {
  const root: Node = { next: new Map(), isEnd: false };
  for (const text of texts) {
    let node = root;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      const next: Node = node.next.get(unit) ?? { next: new Map(), isEnd: false };
      node.next.set(unit, next);
      node = next;
    }
    node.isEnd = text !== "";
  }

  /** Ends of the texts that start at a position, shortest first. */
  return function endsAt(text: string, from: number): number[] {
    const ends: number[] = [];
    let node: Node | undefined = root;
    for (let to = from; to < text.length; to++) {
      node = node.next.get(text.charCodeAt(to));
      if (!node) break;
      if (node.isEnd) ends.push(to + 1);
    }
    return ends;
  };
}
