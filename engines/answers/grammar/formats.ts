const YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)";
const LEAP_YEAR =
  "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)";
const DATE = `(?:${LEAP_YEAR}-02-29|${YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])))`;
const CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]";
const ZONE = "[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]";
/** Limited, since a model that misses the end of a pattern would write digits forever. */
const FRACTION = "(?:\\.[0-9]{1,9})?";
const TIME = `${CLOCK}${FRACTION}(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])`;
const ANY_TIME = `(?:${CLOCK}${FRACTION}(?:[Zz]|${ZONE})|23:59:60${FRACTION}(?:[Zz]|\\+00:00))`;

const BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const IPV4 = `${BYTE}(?:\\.${BYTE}){3}`;
const HEX = "[0-9A-Fa-f]{1,4}";
/** Up to `max` groups; an IPv4 address takes two. */
const groups = (max: number) =>
  max < 2
    ? `(?:${HEX}){0,${max}}`
    : `(?:(?:${HEX}:){0,${max - 1}}${HEX}|(?:${HEX}:){0,${max - 2}}${IPV4})?`;
const IPV6 = `(?:(?:${HEX}:){6}(?:${HEX}:${HEX}|${IPV4})|::${groups(7)}|${[1, 2, 3, 4, 5, 6, 7]
  .map((count) => `${HEX}(?::${HEX}){${count - 1}}::${groups(7 - count)}`)
  .join("|")})`;

const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,20}[A-Za-z0-9])?";
const HOST = `${LABEL}(?:\\.${LABEL}){0,4}`;
const ANY_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
/** Letters allowed in internationalized domain names: Latin, Greek, Cyrillic, Japanese, Chinese, Korean. */
const LETTERS = "ß-öø-ÿα-ωа-яぁ-ゖ一-龥가-힣";
const IDN_LABEL = `(?:[a-z0-9${LETTERS}]{1,12}(?:-[a-z0-9${LETTERS}]{1,3})?|[A-Za-z0-9]{1,30}(?:-[A-Za-z0-9]{1,30})?)`;
const NAME = "[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20})?";
const ATOM = (more: string) => `[A-Za-z0-9!#$%&'*+/=?^_\`{|}~${more}-]+`;
const EMAIL = `^[A-Za-z0-9_+-]{1,20}(?:\\.[A-Za-z0-9_+-]{1,20}){0,3}@${LABEL}(?:\\.${LABEL}){0,3}\\.[A-Za-z]{2,10}$`;
const email = (atom: string, label: string) =>
  `^${atom}(?:\\.${atom})*@${label}(?:\\.${label})*\\.${label}$`;

const PATH = "(?:/[A-Za-z0-9._~-]*)*";
const URI = `https?://${HOST}(?::[0-9]{1,4})?`;
const REST = `${PATH}(?:\\?[A-Za-z0-9._~=&-]*)?`;
/** URIs as in RFC 3986. @param more letters that RFC 3987 adds */
function uris(more: string) {
  const char = (others: string) => `(?:[A-Za-z0-9._~!$&'()*+,;=${more}${others}-]|%[0-9A-Fa-f]{2})`;
  const any = char(":@");
  const host = `//(?:${char(":")}*@)?(?:\\[${IPV6}\\]|${char("")}*)(?::[0-9]{0,5})?(?:/${any}*)*`;
  const path = (first: string) => `/(?:${any}+(?:/${any}*)*)?|${first}+(?:/${any}*)*`;
  const rest = `(?:\\?(?:${any}|[/?])*)?(?:#(?:${any}|[/?])*)?`;
  const uri = `[A-Za-z][A-Za-z0-9+.-]*:(?:${host}|${path(any)})`;
  return {
    uri: `^${uri}${rest}$`,
    reference: `^(?:${uri}|${host}|${path(char("@"))})?${rest}$`,
  };
}
const ASCII_URIS = uris("");
const ALL_URIS = uris("\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef");
const VARIABLE = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+(?::[1-9][0-9]{0,3}|\\*)?";

/** @param digits maximum digits of the first number @param laterDigits maximum digits of the others */
const duration = (digits: string, laterDigits: string) => {
  const first = (unit: string) => `[0-9]{1,${digits}}${unit}`;
  const later = (unit: string) => `[0-9]{1,${laterDigits}}${unit}`;
  const time = `T(?:${first("H")}(?:${later("M")}(?:${later("S")})?)?|${first("M")}(?:${later("S")})?|${first("S")})`;
  const date = `(?:${first("Y")}(?:${later("M")}(?:${later("D")})?)?|${first("M")}(?:${later("D")})?|${first("D")})`;
  return `^P(?:${date}(?:${time})?|${time}|${first("W")})$`;
};
const POINTER = "(?:/(?:[^/~]|~[01])*)*";
const uuid = (version: string) =>
  `^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-${version}[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$`;
const BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/** Patterns of a format's usual spellings, which models write well, and of all that it allows, if that is more. */
type Format = readonly [usual: string, full?: string];

/** Supported string formats. Any other allows every string, as in JSON Schema. */
export const FORMATS: ReadonlyMap<unknown, Format> = new Map<string, Format>([
  ["date", [`^${DATE}$`]],
  ["time", [`^${TIME}$`, `^${ANY_TIME}$`]],
  ["iso-time", [`^${TIME}$`, `^(?:${ANY_TIME}|${CLOCK}${FRACTION})$`]],
  ["date-time", [`^${DATE}T${TIME}$`, `^${DATE}[Tt]${ANY_TIME}$`]],
  ["iso-date-time", [`^${DATE}T${TIME}$`, `^${DATE}[Tt ](?:${ANY_TIME}|${CLOCK}${FRACTION})$`]],
  ["duration", [duration("4", "2"), duration("9", "9")]],
  ["email", [EMAIL, email(ATOM(""), ANY_LABEL)]],
  ["idn-email", [EMAIL, email(ATOM(LETTERS), `(?:${ANY_LABEL}|${IDN_LABEL})`)]],
  ["hostname", [`^${HOST}$`, `^(?=.{1,253}$)${ANY_LABEL}(?:\\.${ANY_LABEL})*$`]],
  ["idn-hostname", [`^${NAME}(?:\\.${NAME}){0,3}$`, `^${IDN_LABEL}(?:\\.${IDN_LABEL}){0,3}$`]],
  ["ipv4", [`^${IPV4}$`]],
  ["ipv6", [`^${HEX}(?::${HEX}){7}$`, `^${IPV6}$`]],
  ["ipvanyaddress", [`^${IPV4}$`, `^(?:${IPV4}|${IPV6})$`]],
  ["uri", [`^${URI}${REST}$`, ASCII_URIS.uri]],
  ["iri", [`^${URI}${REST}$`, ALL_URIS.uri]],
  [
    "url",
    [
      `^https?://${NAME}(?:\\.${NAME}){0,3}\\.[A-Za-z]{2,10}(?::[0-9]{2,4})?(?:/[A-Za-z0-9._~/-]*(?:\\?[A-Za-z0-9._~=&-]*)?)?$`,
      `^(?:https?|ftp)://${NAME}(?:\\.${NAME})*\\.[A-Za-z]{2,}(?::[0-9]{2,5})?(?:/[!-~]*)?$`,
    ],
  ],
  ["uri-reference", [`^(?:${URI})?${REST}$`, ASCII_URIS.reference]],
  ["iri-reference", [`^(?:${URI})?${REST}$`, ALL_URIS.reference]],
  [
    "uri-template",
    [
      `^${URI}(?:/(?:[A-Za-z0-9._~-]|\\{[A-Za-z0-9_]{1,20}\\})*)*$`,
      `^(?:[A-Za-z0-9._~:/?#@!$&()*+,;=\\[\\]-]|%[0-9A-Fa-f]{2}|\\{[+#./;?&]?${VARIABLE}(?:,${VARIABLE})*\\})*$`,
    ],
  ],
  ["uuid", [uuid("[1-8]"), "^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$"]],
  ...["1", "3", "4", "5", "6", "7"].map((version): [string, Format] => [
    `uuid${version}`,
    [uuid(version)],
  ]),
  ["json-pointer", ["^(?:/[A-Za-z0-9._-]*)*$", `^${POINTER}$`]],
  [
    "relative-json-pointer",
    ["^(?:0|[1-9][0-9]?)(?:#|(?:/[A-Za-z0-9._-]*)*)$", `^(?:0|[1-9][0-9]{0,8})(?:#|${POINTER})$`],
  ],
  ["regex", ["^\\^?(?:(?:[A-Za-z0-9_ -]|\\\\[dDwWsS.]|\\.|\\[[A-Za-z0-9_]{1,20}\\])[*+?]?)*\\$?$"]],
  ...["byte", "base64"].map((name): [string, Format] => [name, [BASE64]]),
]);
