import type { StoreOptions } from './stores.ts'

/** What a process brings, beside its settings. */
export interface Surroundings extends Omit<StoreOptions, 'events'> {
  /** Gets a line with the link of each mail, where mail becomes files. */
  readonly announce?: (line: string) => void
}
