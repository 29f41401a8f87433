import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

/**
 * Maps each item of `talkToAnAttorneyWhen` to the ids of the triggers that it describes. An item without triggers is a reason
 * that no check question decides.
 */
export type AttorneyItems = ReadonlyMap<string, readonly string[]>

const AttorneyItemsFile = z.record(z.string().min(1), z.array(z.string()))

let cachedItems: AttorneyItems | undefined

/** Reads `attorney-items.yaml`, once per process. */
export function loadAttorneyItems(): AttorneyItems {
  cachedItems ??= new Map(
    Object.entries(
      AttorneyItemsFile.parse(
        parse(readFileSync(new URL('../attorney-items.yaml', import.meta.url), 'utf8')),
      ),
    ),
  )
  return cachedItems
}
