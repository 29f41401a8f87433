import { readFileSync } from 'node:fs'
import type { z } from 'zod'

/**
 * The features of a model, as lines of its file in the order of their bytes. A line has a feature's name, its rarity and its
 * weights, with tabs between them. Only the lines of a question's features are parsed: as strings in a map, all lines of both models
 * would take 12 MB more.
 */
export interface FeatureLines {
  readonly file: Buffer
  /** The offset of each line, and then the length of the file. */
  readonly offsets: Uint32Array
}

const TAB = '\t'
const NEWLINE = '\n'

/**
 * Reads a model file: its head as JSON on the first line, then one line per feature (name, rarity and weights, with tabs between
 * them). The lines must be in the order of their bytes, as `formatModelFile` writes them, because `findFeature` searches by
 * bisection.
 *
 * @throws {z.ZodError} when the head is invalid
 */
export function readModelFile<Head extends object>(
  url: URL,
  headSchema: z.ZodType<Head>,
): Head & { readonly features: FeatureLines } {
  const file = readFileSync(url)
  const offsets: number[] = []
  for (let end = file.indexOf(NEWLINE); end !== -1; end = file.indexOf(NEWLINE, end + 1))
    offsets.push(end + 1)
  const head = headSchema.parse(JSON.parse(file.toString('utf8', 0, offsets[0])))
  return { ...head, features: { file, offsets: Uint32Array.from(offsets) } }
}

export interface WeightedFeature {
  readonly name: string
  readonly rarity: number
  /** In the format of the model. */
  readonly weights: string
}

/** Finds a feature of a model by its name, which has no tab. Returns undefined if the model does not know it. */
export function findFeature({ file, offsets }: FeatureLines, name: string): WeightedFeature | undefined {
  const key = Buffer.from(name + TAB)
  let from = 0
  let to = offsets.length - 1
  while (from < to) {
    const middle = (from + to) >> 1
    const start = offsets[middle] ?? 0
    const difference = compareStart(file, start, key)
    if (difference === 0) return parseFeature(name, file, start + key.length, (offsets[middle + 1] ?? 0) - 1)
    if (difference < 0) from = middle + 1
    else to = middle
  }
  return undefined
}

/** Compares the bytes of a file from `start` with those of a key. Faster than `Buffer.compare` for keys of a few bytes. */
function compareStart(file: Buffer, start: number, key: Buffer): number {
  for (let index = 0; index < key.length; index += 1) {
    const difference = (file[start + index] ?? 0) - (key[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function parseFeature(name: string, file: Buffer, start: number, end: number): WeightedFeature {
  const rarityEnd = file.indexOf(TAB, start)
  return {
    name,
    rarity: Number(file.toString('latin1', start, rarityEnd)),
    weights: file.toString('latin1', rarityEnd + 1, end),
  }
}

/** Formats a model for `readModelFile`, with rarities of two decimals. */
export function formatModelFile(head: object, features: readonly WeightedFeature[]): string {
  const lines = features
    .toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
    .map(({ name, rarity, weights }) => `${name}\t${Math.round(rarity * 100) / 100}\t${weights}`)
  return `${[JSON.stringify(head), ...lines].join('\n')}\n`
}
