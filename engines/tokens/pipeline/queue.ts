/** Numbers, of which the least is taken first: a heap. */
export function createQueue() {
  const heap: number[] = [];

  function add(value: number): void {
    let place = heap.length;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (heap[parent]! <= value) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = value;
  }

  function take(): number | undefined {
    const least = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return least;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= last) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = last;
    return least;
  }

  return { add, take };
}
