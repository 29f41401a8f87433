import { readFileSync } from 'node:fs'
import { z } from 'zod'

/**
 * A nearest-centroid classifier: for each section, the mean of the TF-IDF vectors of the questions that it answers.
 * `train-likely-sections.ts` computes it from labelled questions.
 */
const SectionModel = z.strictObject({
  sections: z.array(z.string()),
  /** For each feature its rarity (inverse document frequency), then pairs: the index of a section, and the weight in thousandths. */
  features: z.record(z.string(), z.tuple([z.number(), z.array(z.number())])),
})
export type SectionModel = Readonly<z.infer<typeof SectionModel>>

const MODEL = new URL('../../data/likely-sections.json', import.meta.url)
/** The kinds of features that the model uses: words, first letters of words, and bigrams. */
const KINDS = /^[wgb] /

let packaged: SectionModel | undefined

/** Loads the model of this package, once per process. */
export function loadSectionModel(): SectionModel {
  packaged ??= SectionModel.parse(JSON.parse(readFileSync(MODEL, 'utf8')))
  return packaged
}

/** Selects the features that the model uses. */
export const sectionFeatures = (names: readonly string[]): readonly string[] =>
  names.filter((name) => KINDS.test(name))

/**
 * Computes how similar a question is to the questions that each section answers: the cosine of the question and the centroid, from 0 to 1.
 * Linear in the number of features.
 */
export function likelySections(model: SectionModel, names: readonly string[]): ReadonlyMap<string, number> {
  const similarities = new Map<string, number>()
  let squares = 0
  for (const name of sectionFeatures(names)) {
    const [rarity, weights] = model.features[name] ?? []
    if (rarity === undefined || weights === undefined) continue
    squares += rarity ** 2
    for (let at = 0; at < weights.length; at += 2) {
      const section = model.sections[weights[at] ?? -1] ?? ''
      similarities.set(section, (similarities.get(section) ?? 0) + (rarity * (weights[at + 1] ?? 0)) / 1_000)
    }
  }
  const length = Math.sqrt(squares) || 1
  for (const [section, sum] of similarities) similarities.set(section, sum / length)
  return similarities
}
