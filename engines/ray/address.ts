import { KitError } from "../../protocol/error.ts";
import { hasCredentials, serverUrl } from "../../protocol/url.ts";

/** Ray's own variables, in its order. */
const VARIABLES = ["RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"];

/**
 * The dashboard's URL, without a slash at its end.
 * @param option of `ray()`
 * @throws KitError `CONFIG_INVALID` if nothing names one
 */
export function findAddress(option: string | undefined, env: NodeJS.ProcessEnv): string {
  const variable = VARIABLES.find((name) => env[name]?.trim());
  const named = option ?? (variable === undefined ? undefined : env[variable]?.trim());
  if (named === undefined) {
    throw new KitError(
      "CONFIG_INVALID",
      'No Ray cluster is named. Set ray({ address }) or RAY_ADDRESS to its dashboard\'s URL, such as "http://head:8265".',
    );
  }
  if (option === undefined) assertFit(variable ?? "", named);
  return serverUrl(named) ?? named;
}

/** Checks a variable as the option is checked. Ray's tools also take other forms there. */
function assertFit(variable: string, value: string): void {
  // Records and output show the address.
  if (hasCredentials(value)) {
    throw new KitError(
      "CONFIG_INVALID",
      `${variable} has a user's name, a password or a key in its URL. Remove it, and set RAY_AUTH_TOKEN if the cluster asks for a token.`,
    );
  }
  if (serverUrl(value) !== undefined) return;
  throw new KitError(
    "CONFIG_INVALID",
    `${variable} is ${value}, but ray() needs the dashboard's URL, such as http://head:8265. Set ray({ address }) or RAY_API_SERVER_ADDRESS to it.`,
  );
}
