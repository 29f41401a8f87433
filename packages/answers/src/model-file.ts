import { readFileSync } from 'node:fs'
import type { z } from 'zod'

/**
 * The features of a model by name, as rows of text. A row has the rarity of the feature and its weights, with a tab between them.
 * A row is parsed when a question has the feature: parsed in advance, the rows of both models take 22 MB more.
 */
export type FeatureRows = ReadonlyMap<string, string>

/**
 * Reads a model from a file: its head as JSON on the first line, then one line per feature with the name, a tab and the row.
 *
 * @throws {z.ZodError} when the head is invalid
 */
export function readModelFile<Head extends object>(
  file: URL,
  head: z.ZodType<Head>,
): Head & { readonly features: FeatureRows } {
  const [headLine = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  const features = new Map(
    lines.map((line) => {
      const nameEnd = line.indexOf('\t')
      return [line.slice(0, nameEnd), line.slice(nameEnd + 1)]
    }),
  )
  return { ...head.parse(JSON.parse(headLine)), features }
}

export interface WeightedFeature {
  readonly name: string
  readonly rarity: number
  /** As the model formats them. */
  readonly weights: string
}

/** Finds a feature of a model. Returns undefined for one that the model does not know. */
export function findFeature(features: FeatureRows, name: string): WeightedFeature | undefined {
  const row = features.get(name)
  if (row === undefined) return undefined
  const rarityEnd = row.indexOf('\t')
  return { name, rarity: Number(row.slice(0, rarityEnd)), weights: row.slice(rarityEnd + 1) }
}

/** Formats a model for `readModelFile`, with the features in the order of their names and rarities with two decimals. */
export function formatModelFile(head: object, features: readonly WeightedFeature[]): string {
  const lines = features
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, rarity, weights }) => `${name}\t${Math.round(rarity * 100) / 100}\t${weights}`)
  return `${[JSON.stringify(head), ...lines].join('\n')}\n`
}
