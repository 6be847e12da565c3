/** Chosen short enough for the tab's title to be true while the tab is hidden. */
const UNPAINTED_MS = 250;

/**
 * Calls `flush` once a painted frame, however often it is requested. A hidden tab paints nothing:
 * there a timer does it.
 */
export function createFrame(flush: () => void): { request: () => void; cancel: () => void } {
  let frame: number | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function cancel(): void {
    if (frame !== undefined) cancelAnimationFrame(frame);
    clearTimeout(timer);
    frame = timer = undefined;
  }

  function run(): void {
    cancel();
    flush();
  }

  function request(): void {
    if (frame !== undefined) return;
    frame = requestAnimationFrame(run);
    timer = setTimeout(run, UNPAINTED_MS);
  }

  return { request, cancel };
}
