/** The folder with the hand-off triggers, one `<id>.yaml` each. */
export const TRIGGERS_FOLDER = new URL('../triggers/', import.meta.url)
