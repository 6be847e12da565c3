/** When a step was logged, in milliseconds by any clock. */
export interface Moment {
  step: number;
  at: number;
}

/**
 * The seconds until a training's last step, at its pace between two logs. Undefined until the pace is
 * known. Pure.
 * @param first the first log, because the first step also warms up
 */
export function secondsLeft(
  first: Moment | undefined,
  last: Moment | undefined,
  steps: number | undefined,
): number | undefined {
  if (!first || !last || steps === undefined || last.step <= first.step) return undefined;
  const secondsPerStep = (last.at - first.at) / 1000 / (last.step - first.step);
  return secondsPerStep * Math.max(0, steps - last.step);
}
