/** A terminal's text style, as set by "select graphic rendition" sequences. */
interface TextStyle {
  colour?: Colour;
  /** The background's colour. */
  background?: Colour;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  inverse?: boolean;
}

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
type Colour = (typeof COLOURS)[number];

const DECORATIONS = ["bold", "italic", "underline"] as const;

/** The change that each single code makes. */
const CHANGES: Record<number, TextStyle> = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  21: { underline: true },
  22: { bold: false, dim: false },
  23: { italic: false },
  24: { underline: false },
  27: { inverse: false },
  39: { colour: undefined },
  49: { background: undefined },
};
COLOURS.forEach((colour, index) => {
  CHANGES[30 + index] = CHANGES[90 + index] = { colour };
  CHANGES[40 + index] = CHANGES[100 + index] = { background: colour };
});

const MOST_KNOWN = 1_000;
/** A smaller difference between red, green and blue, of 255, is grey. */
const GREY_BELOW = 48;

/** A style and what derives from it. */
interface Rendition {
  style: TextStyle;
  /** CSS classes; empty for plain text. */
  classes: string;
  /** Equal for equal styles. */
  key: string;
}

/**
 * Keeps the current style. Caches where each sequence leads, because a flood of output repeats a
 * few styles on every line.
 */
export function createRendition() {
  let now: Rendition = { style: {}, classes: "", key: "" };
  const known = new Map<string, Rendition>();

  /** @param parameters a sequence's, such as `1;31` */
  function change(parameters: string): void {
    const way = `${now.key} ${parameters}`;
    const next = known.get(way) ?? rendition(restyle(now.style, parameters));
    if (known.size === MOST_KNOWN) known.clear();
    known.set(way, next);
    now = next;
  }

  return { change, classes: () => now.classes };
}

function rendition(style: TextStyle): Rendition {
  return { style, classes: classesOf(style), key: JSON.stringify(style) };
}

function restyle(style: TextStyle, parameters: string): TextStyle {
  const codes = parameters.split(";");
  for (let at = 0; at < codes.length; at++) {
    // Details follow their code after colons or, as most programs write it, semicolons.
    let [code = 0, ...details] = codes[at]!.split(":").map(Number);
    if (code === 38 || code === 48) {
      if (!details.length) {
        details = codes.slice(at + 1, at + (codes[at + 1] === "2" ? 5 : 3)).map(Number);
        at += details.length;
      }
      const colour = colourOf(details);
      if (colour) style = { ...style, [code === 38 ? "colour" : "background"]: colour };
    } else {
      if (code === 4 && details[0] === 0) code = 24;
      style = code === 0 ? {} : { ...style, ...CHANGES[code] };
    }
  }
  return style;
}

function classesOf(style: TextStyle): string {
  const text = style.colour ?? (style.dim ? "black" : "");
  const background = style.inverse ? text || "white" : style.background;
  // Text on a background has one colour, legible on every background.
  let classes = background ? `background ${background}` : text;
  for (const name of DECORATIONS) if (style[name]) classes += ` ${name}`;
  return classes.trim();
}

/** The nearest of our colours, legible in light and dark, to `5;<n>` or `2;<r>;<g>;<b>`. */
function colourOf([kind, ...values]: number[]): Colour | undefined {
  // A colour space may precede the three values.
  if (kind === 2) return nearest(values.slice(-3));
  const [index = NaN] = values;
  if (kind !== 5 || !(index < 256)) return undefined;
  if (index < 16) return COLOURS[index % 8];
  if (index >= 232) return nearest([index * 10 - 2312]);
  const cube = index - 16;
  const levels = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6];
  return nearest(levels.map((level) => (level ? 55 + 40 * level : 0)));
}

function nearest(rgb: number[]): Colour | undefined {
  const low = Math.min(...rgb);
  const high = Math.max(...rgb);
  const middle = (low + high) / 2;
  if (high - low < GREY_BELOW) return middle < 160 ? "black" : "white";
  return COLOURS[rgb.reduce((bits, value, place) => bits | (Number(value > middle) << place), 0)];
}
