/** How a terminal shows text, as the sequences "select graphic rendition" leave it. */
export interface TextStyle {
  colour?: Colour;
  /** Of the background. */
  ground?: Colour;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  struck?: boolean;
  inverse?: boolean;
}

export const COLOURS = [
  "black",
  "red",
  "green",
  "yellow",
  "blue",
  "magenta",
  "cyan",
  "white",
] as const;

type Colour = (typeof COLOURS)[number];

/** Less of a difference between red, green and blue is grey. Of 255. */
const GREY_BELOW = 48;

/** The style after a sequence with these parameters, such as `1;31`. Pure. */
export function restyle(before: TextStyle, parameters: string): TextStyle {
  let style = { ...before };
  const codes = parameters.split(";");
  while (codes.length) {
    const [code, ...details] = codes.shift()!.split(":").map(Number);
    if (code === 0) style = {};
    else if (code === 38 || code === 48) {
      const colour = details.length ? ofMany(details[0], details.slice(1)) : takeColour(codes);
      if (colour) style[code === 38 ? "colour" : "ground"] = colour;
    } else apply(style, code!, details[0]);
  }
  return style;
}

/** The classes of text in this style; empty for plain text. */
export function classesOf(style: TextStyle): string {
  const { colour, ground, dim, inverse } = style;
  const text = colour ?? (dim ? "black" : undefined);
  const behind = inverse ? (text ?? "white") : ground;
  return [
    // On a ground, text has the one colour that is legible on all of them.
    behind ? `ground ${behind}` : text,
    ...(["bold", "italic", "underline", "struck"] as const).filter((name) => style[name]),
  ]
    .filter(Boolean)
    .join(" ");
}

function apply(style: TextStyle, code: number, detail: number | undefined): void {
  if (code === 1) style.bold = true;
  else if (code === 2) style.dim = true;
  else if (code === 3) style.italic = true;
  else if (code === 4) style.underline = detail !== 0;
  else if (code === 7) style.inverse = true;
  else if (code === 9) style.struck = true;
  else if (code === 21) style.underline = true;
  else if (code === 22) style.bold = style.dim = false;
  else if (code === 23) style.italic = false;
  else if (code === 24) style.underline = false;
  else if (code === 27) style.inverse = false;
  else if (code === 29) style.struck = false;
  else if (code === 39) style.colour = undefined;
  else if (code === 49) style.ground = undefined;
  else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
    style.colour = COLOURS[code % 10];
  } else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) {
    style.ground = COLOURS[code % 10];
  }
}

/** Takes from the codes after a 38 or 48 what names the colour: `5;<n>` or `2;<r>;<g>;<b>`. */
function takeColour(codes: string[]): Colour | undefined {
  const kind = Number(codes.shift());
  return ofMany(kind, codes.splice(0, kind === 2 ? 3 : 1).map(Number));
}

/** The nearest of the colours that are legible in light and dark. */
function ofMany(kind: number | undefined, values: number[]): Colour | undefined {
  // A colour space may come before the three.
  if (kind === 2) return nearest(values.slice(-3));
  const index = values[0] ?? NaN;
  if (kind !== 5 || !(index >= 0 && index < 256)) return undefined;
  if (index < 16) return COLOURS[index % 8];
  if (index >= 232) return nearest(Array<number>(3).fill((index - 232) * 10 + 8));
  const cube = index - 16;
  const levels = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6];
  return nearest(levels.map((level) => (level ? 55 + 40 * level : 0)));
}

function nearest(rgb: number[]): Colour | undefined {
  const low = Math.min(...rgb);
  const high = Math.max(...rgb);
  const middle = (low + high) / 2;
  if (high - low < GREY_BELOW) return middle < 160 ? "black" : "white";
  const bits = rgb.map((value, place) => (value > middle ? 1 << place : 0));
  return COLOURS[bits.reduce((sum, bit) => sum + bit, 0)];
}
