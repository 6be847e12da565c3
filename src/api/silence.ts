/** A live connection to Kit is never silent for so long: a heartbeat comes every 15 seconds. */
const SILENCE_MS = 40_000;

/** Calls `onSilence` once nothing has come for too long; running from the start. */
export function createSilenceTimer(onSilence: () => void): {
  /** Something came. */
  restart: () => void;
  stop: () => void;
} {
  let timer = setTimeout(onSilence, SILENCE_MS);
  const stop = () => clearTimeout(timer);
  return {
    stop,
    restart() {
      stop();
      timer = setTimeout(onSilence, SILENCE_MS);
    },
  };
}
