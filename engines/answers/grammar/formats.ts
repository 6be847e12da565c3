const DATE =
  "(?:(?:[0-9]{2}[2468][048]|[0-9]{2}[13579][26]|[0-9]{2}0[48]|[02468][048]00|[13579][26]00)-02-29|[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])))";
const CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?";
const TIME = `${CLOCK}(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])`;
const BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,20}[A-Za-z0-9])?";
const HOST = `${LABEL}(?:\\.${LABEL}){0,4}`;
const PATH = "(?:/[A-Za-z0-9._~-]*)*";
const DURATION_TIME =
  "T(?:[0-9]{1,4}H(?:[0-9]{1,2}M)?(?:[0-9]{1,2}S)?|[0-9]{1,4}M(?:[0-9]{1,2}S)?|[0-9]{1,4}S)";
const DURATION_DATE =
  "(?:[0-9]{1,4}Y(?:[0-9]{1,2}M(?:[0-9]{1,2}D)?)?|[0-9]{1,4}M(?:[0-9]{1,2}D)?|[0-9]{1,4}D)";

const URI = `https?://${HOST}(?::[0-9]{1,4})?`;
const REST = `${PATH}(?:\\?[A-Za-z0-9._~=&-]*)?`;
const EMAIL = `^[A-Za-z0-9_+-]{1,20}(?:\\.[A-Za-z0-9_+-]{1,20}){0,3}@${LABEL}(?:\\.${LABEL}){0,3}\\.[A-Za-z]{2,10}$`;
const IPV4 = `^${BYTE}(?:\\.${BYTE}){3}$`;
const uuid = (version: string) =>
  `^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-${version}[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$`;
const BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/** String formats as patterns; any other says nothing, as JSON Schema has it. Some are narrower than their definition. */
export const FORMATS: ReadonlyMap<string, string> = new Map([
  ["date", `^${DATE}$`],
  ...["time", "iso-time"].map((name) => [name, `^${TIME}$`] as const),
  ...["date-time", "iso-date-time"].map((name) => [name, `^${DATE}T${TIME}$`] as const),
  ["duration", `^P(?:${DURATION_DATE}(?:${DURATION_TIME})?|${DURATION_TIME}|[0-9]{1,4}W)$`],
  ...["email", "idn-email"].map((name) => [name, EMAIL] as const),
  ...["hostname", "idn-hostname"].map((name) => [name, `^${HOST}$`] as const),
  ...["ipv4", "ipvanyaddress"].map((name) => [name, IPV4] as const),
  ["ipv6", "^[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){7}$"],
  ...["uri", "iri", "url"].map((name) => [name, `^${URI}${REST}$`] as const),
  ...["uri-reference", "iri-reference"].map((name) => [name, `^(?:${URI})?${REST}$`] as const),
  ["uri-template", `^${URI}(?:/(?:[A-Za-z0-9._~-]|\\{[A-Za-z0-9_]{1,20}\\})*)*$`],
  ["uuid", uuid("[1-8]")],
  ...["1", "3", "4", "5", "6", "7"].map((version) => [`uuid${version}`, uuid(version)] as const),
  ["json-pointer", "^(?:/[A-Za-z0-9._-]*)*$"],
  ["relative-json-pointer", "^(?:0|[1-9][0-9]{0,3})(?:#|(?:/[A-Za-z0-9._-]*)*)$"],
  ["regex", "^\\^?(?:(?:[A-Za-z0-9_ -]|\\\\[dDwWsS.]|\\.|\\[[A-Za-z0-9_]{1,20}\\])[*+?]?)*\\$?$"],
  ...["byte", "base64"].map((name) => [name, BASE64] as const),
]);
