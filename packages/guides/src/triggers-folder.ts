/** Where the hand-off triggers are: one `<id>.yaml` each. */
export const TRIGGERS_FOLDER = new URL('../triggers/', import.meta.url)
