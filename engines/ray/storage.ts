/** Adds a name to a storage's path. A URL's query, such as its server's address, stays at the end. */
export function under(storage: string, name: string): string {
  const { path, query } = split(storage);
  return `${path}/${name}${query}`;
}

/** Whether a place lies under a storage: both are paths, or URLs with the same query. */
export function isUnder(storage: string, place: string): boolean {
  const [one, other] = [split(storage), split(place)];
  return other.path.startsWith(`${one.path}/`) && other.query === one.query;
}

function split(place: string): { path: string; query: string } {
  const at = place.includes("://") ? place.indexOf("?") : -1;
  const [path, query] = at < 0 ? [place, ""] : [place.slice(0, at), place.slice(at)];
  return { path: path.replace(/\/+$/, ""), query };
}
