// Fields of protocol buffers, in their wire format.

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED_32 = 5;

export function message(...fields: readonly Buffer[]): Buffer {
  return Buffer.concat(fields);
}

/** @param value a whole number of at least 0 */
export function integer(field: number, value: number): Buffer {
  return message(key(field, VARINT), varint(value));
}

export function double(field: number, value: number): Buffer {
  const content = Buffer.alloc(8);
  content.writeDoubleLE(value);
  return message(key(field, FIXED_64), content);
}

export function float(field: number, value: number): Buffer {
  const content = Buffer.alloc(4);
  content.writeFloatLE(value);
  return message(key(field, FIXED_32), content);
}

export function bytes(field: number, content: Buffer): Buffer {
  return message(key(field, LENGTH_DELIMITED), varint(content.length), content);
}

export function text(field: number, content: string): Buffer {
  return bytes(field, Buffer.from(content));
}

function key(field: number, wireType: number): Buffer {
  return varint(field * 8 + wireType);
}

/** Seven bits a byte, the lowest first; all bytes but the last have the high bit. */
function varint(value: number): Buffer {
  const content: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) content.push((rest % 128) + 128);
  return Buffer.from([...content, rest]);
}
