import type { Features } from '@plainpath/metadata'
import type { StoreOptions } from './stores.ts'

/** What a process brings, beside its settings. */
export interface Surroundings extends Omit<StoreOptions, 'events'> {
  /** What runs, where it is to be something else than `FEATURES`. */
  readonly features?: Features
  /** Gets a line with the link of each mail, where mail becomes files. */
  readonly announce?: (line: string) => void
}
