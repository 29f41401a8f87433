import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

/** By the text of an item of `talkToAnAttorneyWhen`, the ids of the triggers that it speaks of. */
export type AttorneyItems = ReadonlyMap<string, readonly string[]>

const File = z.record(z.string().min(1), z.array(z.string()))

let read: AttorneyItems | undefined

/** Reads `attorney-items.yaml`, once. */
export function loadAttorneyItems(): AttorneyItems {
  read ??= new Map(
    Object.entries(
      File.parse(parse(readFileSync(new URL('../attorney-items.yaml', import.meta.url), 'utf8'))),
    ),
  )
  return read
}
