import { messageOf } from "../../../protocol/error.ts";
import { isRecord } from "../../../protocol/isRecord.ts";
import { stringifyJson } from "../../../protocol/json.ts";
import { type Keywords, type Spend, unsupported } from "./schemaNode.ts";

/** Base address of a schema without an `$id`. */
const NOWHERE = "schema://kit/";
/** Keywords whose values look like schemas but are plain data. */
const VALUES = new Set(["const", "enum", "default", "examples", "example"]);

/** Resolves each `$ref`: by its path, `$id` or `$anchor`. */
export function createReferences(root: unknown, spend: Spend) {
  const bases = new Map<unknown, string>();
  const known = new Map<string, unknown>();
  const dynamic = new Map<string, number>();
  function findAddresses(): void {
    known.set(NOWHERE, root);
    const open: (readonly [at: unknown, base: string])[] = [[root, NOWHERE]];
    for (const [at, from] of open) {
      if ((!isRecord(at) && !Array.isArray(at)) || bases.has(at)) continue;
      spend(1);
      const { $id: id, $anchor: anchor, $dynamicAnchor: moving } = at as Keywords;
      const base = typeof id === "string" ? addressOf(id, from) : from;
      bases.set(at, base);
      if (base !== from) known.set(base, at);
      for (const name of [anchor, moving])
        if (typeof name === "string") known.set(`${base}#${name}`, at);
      if (typeof moving === "string") dynamic.set(moving, (dynamic.get(moving) ?? 0) + 1);
      for (const [name, value] of Object.entries(at)) {
        if (!VALUES.has(name) || Array.isArray(at)) open.push([value, base]);
      }
    }
  }

  /** @throws KitError `REQUEST_INVALID` for a missing target */
  function resolved(schema: Keywords): unknown {
    if (known.size === 0) findAddresses();
    const ref = schema["$ref"] ?? schema["$dynamicRef"];
    const missing = () => unsupported(`"$ref" ${stringifyJson(ref)}, which is not in the schema`);
    const address = typeof ref === "string" && addressOf(ref, bases.get(schema) ?? NOWHERE);
    if (!address) throw missing();
    const [base = "", fragment = ""] = address.split("#");
    const name = nameOf(fragment);
    if (schema["$ref"] === undefined && (dynamic.get(name) ?? 0) > 1) {
      throw unsupported(`"$dynamicRef" ${stringifyJson(ref)}, which several schemas define`);
    }
    if (name !== "" && !name.startsWith("/")) {
      if (!known.has(`${base}#${name}`)) throw missing();
      return known.get(`${base}#${name}`);
    }
    if (!known.has(base)) throw missing();
    let at = known.get(base);
    for (const part of fragment.split("/").slice(1)) {
      const key = nameOf(part).replaceAll("~1", "/").replaceAll("~0", "~");
      const isThere = (isRecord(at) || Array.isArray(at)) && Object.hasOwn(at, key);
      if (!isThere) throw missing();
      at = (at as Keywords)[key];
    }
    return at;
  }

  return resolved;
}

/** Scheme, host, path, query and fragment. */
const PARTS = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is;

/** Resolves a reference against a base address (RFC 3986, 5.2). QuickJS has no URL. */
function addressOf(reference: string, base: string): string {
  const [, scheme, host, path = "", query, fragment] = PARTS.exec(reference) ?? [];
  const [, ownScheme = "", ownHost, ownPath = "", ownQuery] = PARTS.exec(base) ?? [];
  const isAbsolute = scheme !== undefined || host !== undefined;
  const isSame = !isAbsolute && path === "";
  const isWhole = isAbsolute || path.startsWith("/");
  const joined = isWhole ? path : ownPath.replace(/[^/]*$/, "") + path;
  const at = isAbsolute ? host : ownHost;
  return [
    `${(scheme ?? ownScheme).toLowerCase()}:`,
    at === undefined ? "" : `//${at.toLowerCase()}`,
    isSame ? ownPath : withoutDots(joined) || (at === undefined ? "" : "/"),
    ...optional("?", isSame ? (query ?? ownQuery) : query),
    ...optional("#", fragment),
  ].join("");
}

function optional(mark: string, part = ""): string[] {
  return part === "" ? [] : [mark, part];
}

function withoutDots(path: string): string {
  const kept: string[] = [];
  const parts = path.split("/");
  for (const part of parts) {
    if (part === "..") kept.length = Math.max(1, kept.length - 1);
    else if (part !== ".") kept.push(part);
  }
  if (/^\.{1,2}$/.test(parts.at(-1)!)) kept.push("");
  return kept.join("/");
}

function nameOf(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    throw unsupported(`a "$ref" that is malformed (${messageOf(error)})`);
  }
}
