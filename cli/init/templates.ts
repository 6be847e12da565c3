/** The projects that `kit init` creates. */
export const TEMPLATES = ["quickstart", "finetune"] as const;
export type Template = (typeof TEMPLATES)[number];
