export const SWIFTSHADER: Record<"VK_ICD_FILENAMES" | "XDG_RUNTIME_DIR", string>;
export function hasVulkan(): boolean;
