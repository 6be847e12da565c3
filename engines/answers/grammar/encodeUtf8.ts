/** A text in UTF-8, with one character per byte. QuickJS has neither Buffer nor TextEncoder. */
export function encodeUtf8(text: string): string {
  if (ASCII.test(text)) return text;
  return encodeURIComponent(text.replace(LONE_SURROGATE, "\ufffd")).replace(
    ESCAPED,
    (_, byte: string) => String.fromCharCode(parseInt(byte, 16)),
  );
}

// oxlint-disable-next-line no-control-regex
const ASCII = /^[\0-\x7f]*$/;
const LONE_SURROGATE = /\p{Surrogate}/gu;
const ESCAPED = /%(..)/g;
