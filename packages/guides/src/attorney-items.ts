import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

/** Maps the text of each item of `talkToAnAttorneyWhen` to the ids of the triggers that it describes. */
export type AttorneyItems = ReadonlyMap<string, readonly string[]>

const File = z.record(z.string().min(1), z.array(z.string()))

let cached: AttorneyItems | undefined

/** Reads `attorney-items.yaml`, once. */
export function loadAttorneyItems(): AttorneyItems {
  cached ??= new Map(
    Object.entries(
      File.parse(parse(readFileSync(new URL('../attorney-items.yaml', import.meta.url), 'utf8'))),
    ),
  )
  return cached
}
