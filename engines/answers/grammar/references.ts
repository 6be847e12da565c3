import { messageOf } from "../../../protocol/error.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { stringifyJson } from "../../../protocol/json.ts";
import { type Keywords, type Spend, unsupported } from "./schemaNode.ts";

/** The base URI of a schema without an `$id`. */
const DEFAULT_BASE = "schema://kit/";
/** Keywords whose values look like schemas but are plain data. */
const DATA_KEYWORDS = new Set(["const", "enum", "default", "examples", "example"]);

/** Resolves each `$ref`: by its path, `$id` or `$anchor`. */
export function createReferences(root: unknown, spend: Spend) {
  const bases = new Map<unknown, string>();
  const targets = new Map<string, unknown>();
  const dynamicAnchorCounts = new Map<string, number>();
  function findAddresses(): void {
    targets.set(DEFAULT_BASE, root);
    const queue: (readonly [node: unknown, base: string])[] = [[root, DEFAULT_BASE]];
    for (const [node, parentBase] of queue) {
      if ((!isRecord(node) && !Array.isArray(node)) || bases.has(node)) continue;
      spend(1);
      const { $id: id, $anchor: anchor, $dynamicAnchor: dynamicAnchor } = node as Keywords;
      const base = typeof id === "string" ? resolveAddress(id, parentBase) : parentBase;
      bases.set(node, base);
      if (base !== parentBase) targets.set(base, node);
      for (const name of [anchor, dynamicAnchor])
        if (typeof name === "string") targets.set(`${base}#${name}`, node);
      if (typeof dynamicAnchor === "string")
        dynamicAnchorCounts.set(dynamicAnchor, (dynamicAnchorCounts.get(dynamicAnchor) ?? 0) + 1);
      for (const [name, value] of Object.entries(node)) {
        if (!DATA_KEYWORDS.has(name) || Array.isArray(node)) queue.push([value, base]);
      }
    }
  }

  /** @throws KitError `REQUEST_INVALID` for a missing target */
  function resolveRef(schema: Keywords): unknown {
    if (targets.size === 0) findAddresses();
    const ref = schema["$ref"] ?? schema["$dynamicRef"];
    const missing = () => unsupported(`"$ref" ${stringifyJson(ref)}, which is not in the schema`);
    const address =
      typeof ref === "string" && resolveAddress(ref, bases.get(schema) ?? DEFAULT_BASE);
    if (!address) throw missing();
    const [base = "", fragment = ""] = address.split("#");
    const name = nameOf(fragment);
    if (schema["$ref"] === undefined && (dynamicAnchorCounts.get(name) ?? 0) > 1) {
      throw unsupported(`"$dynamicRef" ${stringifyJson(ref)}, which several schemas define`);
    }
    if (name !== "" && !name.startsWith("/")) {
      if (!targets.has(`${base}#${name}`)) throw missing();
      return targets.get(`${base}#${name}`);
    }
    if (!targets.has(base)) throw missing();
    let node = targets.get(base);
    for (const part of fragment.split("/").slice(1)) {
      const key = nameOf(part).replaceAll("~1", "/").replaceAll("~0", "~");
      const isThere = (isRecord(node) || Array.isArray(node)) && Object.hasOwn(node, key);
      if (!isThere) throw missing();
      node = (node as Keywords)[key];
    }
    return node;
  }

  return resolveRef;
}

/** A URI's scheme, host, path, query and fragment. */
const URI_PARTS = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is;

/** Resolves a reference against a base URI (RFC 3986, 5.2), since QuickJS has no `URL`. */
function resolveAddress(reference: string, base: string): string {
  const [, scheme, host, path = "", query, fragment] = URI_PARTS.exec(reference) ?? [];
  const [, baseScheme = "", baseHost, basePath = "", baseQuery] = URI_PARTS.exec(base) ?? [];
  const isAbsolute = scheme !== undefined || host !== undefined;
  const isSameDocument = !isAbsolute && path === "";
  const isFullPath = isAbsolute || path.startsWith("/");
  const joined = isFullPath ? path : basePath.replace(/[^/]*$/, "") + path;
  const authority = isAbsolute ? host : baseHost;
  return [
    `${(scheme ?? baseScheme).toLowerCase()}:`,
    authority === undefined ? "" : `//${authority.toLowerCase()}`,
    isSameDocument ? basePath : withoutDots(joined) || (authority === undefined ? "" : "/"),
    ...optional("?", isSameDocument ? (query ?? baseQuery) : query),
    ...optional("#", fragment),
  ].join("");
}

function optional(separator: string, part = ""): string[] {
  return part === "" ? [] : [separator, part];
}

function withoutDots(path: string): string {
  const segments: string[] = [];
  const parts = path.split("/");
  for (const part of parts) {
    if (part === "..") segments.length = Math.max(1, segments.length - 1);
    else if (part !== ".") segments.push(part);
  }
  if (/^\.{1,2}$/.test(parts.at(-1)!)) segments.push("");
  return segments.join("/");
}

function nameOf(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    throw unsupported(`a "$ref" that is malformed (${messageOf(error)})`);
  }
}
