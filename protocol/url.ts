/** Query parameters that carry object stores' keys. */
const SECRET_NAME = /key|secret|token|password|signature|credential|^sig$|^sas/i;

/** In an Azure URL, the container's name stands before the `@`: it is not a secret. */
const AZURE_CONTAINER = /^(\s*abfss?:\/\/)[\w$-]+@/i;

/**
 * A server's base URL, without a trailing slash, query or hash.
 * @param text as pasted by users
 * @returns undefined for another scheme
 */
export function serverUrl(text: string): string | undefined {
  const trimmed = text.trim();
  if (!/^https?:\/\//i.test(trimmed) || !URL.canParse(trimmed)) return undefined;
  const { origin, pathname } = new URL(trimmed);
  return (origin + pathname).replace(/\/+$/, "");
}

/** Whether a text begins with a URL scheme and two slashes. */
export function isUrl(text: string): boolean {
  return /^\s*[a-z][a-z\d+.-]+:\/\//i.test(text);
}

/** Whether a text contains a user name, password or key, even if it is not a valid URL. */
export function hasCredentials(text: string): boolean {
  if (/^\s*(\/|file:\/\/\/)/i.test(text)) return false;
  // A secret may contain a slash, which would end the URL's authority.
  if (text.replace(AZURE_CONTAINER, "$1").includes("@")) return true;
  const [, ...parameters] = text.split(/[?&;#]/);
  return parameters.some((pair) => SECRET_NAME.test([...new URLSearchParams(pair).keys()].join()));
}
