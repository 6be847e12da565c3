/** A terminal's text style, as CSS classes by their kinds. */
type TextStyle = Partial<
  Record<"colour" | "dim" | "background" | "bold" | "italic" | "underline", string>
>;

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** The effect of each "select graphic rendition" code. */
const CHANGES: Record<number, TextStyle> = {
  1: { bold: "bold" },
  2: { dim: "black" },
  3: { italic: "italic" },
  4: { underline: "underline" },
  22: { bold: "", dim: "" },
  23: { italic: "" },
  24: { underline: "" },
  39: { colour: "" },
  49: { background: "" },
};
COLOURS.forEach((colour, index) => {
  CHANGES[30 + index] = CHANGES[90 + index] = { colour };
  CHANGES[40 + index] = CHANGES[100 + index] = { background: `background ${colour}` };
});

/** A style after a sequence. @param parameters such as `1;31` */
export function restyled(style: TextStyle, parameters: string): TextStyle {
  const codes = parameters.split(";").map(Number);
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    // Skips 256 colours and RGB: a run's FORCE_COLOR=1 allows only 16.
    if (code === 38 || code === 48) at += codes[at + 1] === 2 ? 4 : 2;
    else style = code === 0 ? {} : { ...style, ...CHANGES[code] };
  }
  return style;
}

export function classesOf({ colour, dim, background, ...decorations }: TextStyle): string {
  // Text on a background has one colour, legible on every background.
  const { bold, italic, underline } = decorations;
  return [background || colour || dim, bold, italic, underline].filter(Boolean).join(" ");
}
