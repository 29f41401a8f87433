import { fileURLToPath } from 'node:url'

/** The folder of this app's migrations, as `migrate` and `schemaIsCurrent` take it. */
export const MIGRATIONS = fileURLToPath(new URL('../migrations', import.meta.url))
