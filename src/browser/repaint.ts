/** Short enough to keep the title of a hidden tab up to date. */
const UNPAINTED_MS = 250;

/**
 * Calls `flush` once per repaint, however often it is requested. A timer stands in for the repaint
 * in a hidden tab, which the browser never paints.
 */
export function createRepaint(flush: () => void): { request: () => void; cancel: () => void } {
  let requested: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function cancel(): void {
    if (requested !== undefined) cancelAnimationFrame(requested);
    clearTimeout(timer);
    requested = timer = undefined;
  }

  function run(): void {
    cancel();
    flush();
  }

  function request(): void {
    if (requested !== undefined) return;
    requested = requestAnimationFrame(run);
    timer = setTimeout(run, UNPAINTED_MS);
  }

  return { request, cancel };
}
