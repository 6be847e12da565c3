/** Query parameters in which object stores take keys. */
const SECRET_NAME = /key|secret|token|password|signature|credential|^sig$|^sas/i;

/** An Azure URL has its container before the `@`, where other URLs have a user. It is not a secret. */
const AZURE_CONTAINER = /^(\s*abfss?:\/\/)[\w$-]+@/i;

/**
 * The URL of a server, as requests continue it: without a slash at its end, a query or a hash.
 * @param text as people copy it
 * @returns undefined for another scheme
 */
export function serverUrl(text: string): string | undefined {
  const trimmed = text.trim();
  if (!/^https?:\/\//i.test(trimmed) || !URL.canParse(trimmed)) return undefined;
  const { origin, pathname } = new URL(trimmed);
  return (origin + pathname).replace(/\/+$/, "");
}

/** Whether a text is a URL: a scheme, and what follows its two slashes. */
export function isUrl(text: string): boolean {
  return /^\s*[a-z][a-z\d+.-]+:\/\//i.test(text);
}

/** Whether a text contains a user's name, a password or a key, even if it is not a valid URL. */
export function hasCredentials(text: string): boolean {
  if (/^\s*(\/|file:\/\/\/)/i.test(text)) return false;
  // A secret may have a slash, which ends the part of a URL that is meant for it.
  if (text.replace(AZURE_CONTAINER, "$1").includes("@")) return true;
  const [, ...parameters] = text.split(/[?&;#]/);
  return parameters.some((one) => SECRET_NAME.test([...new URLSearchParams(one).keys()].join()));
}
