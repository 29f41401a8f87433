import { fileURLToPath } from 'node:url'

/** The root of the checkout: relative paths in `DATA_DIR` start there, wherever a command was called. */
export const PROJECT_FOLDER = fileURLToPath(new URL('../../..', import.meta.url))
