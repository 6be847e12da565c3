/** Absolute path of the folder. */
export const CHAT_TEMPLATES: string;
