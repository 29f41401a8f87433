/* oxlint-disable no-console -- a program whose output is what it prints */
import { writeFileSync } from 'node:fs'
import { loadSectionAsks } from '@plainpath/guides'
import { formatModelFile } from '../model-file.ts'
import { parseTrainingArguments, readTrainingQuestions } from '../training-questions.ts'
import { readFeatures } from '../triggers/match-triggers.ts'
import { loadTriggers } from '../triggers/trigger-file.ts'
import { selectSectionFeatures } from './likely-sections.ts'

/**
 * This program computes the model of `likely-sections.ts` and writes it to a file. Its arguments are files of labelled questions.
 * Its examples are those whose label names sections, and the asks of the guides. The same examples always give the same model.
 *
 * Usage: `npm run train:sections -- packages/answers/examples/*.jsonl [--out FILE] [--without AUTHOR_CODES] [--today DATE]`
 */

/** A feature that fewer examples have is left out of the model. */
const MIN_EXAMPLES_PER_FEATURE = 2
/** A section keeps only its features with the greatest weights. */
const MAX_FEATURES_PER_SECTION = 400
/** The weights in the file are in thousandths. */
const THOUSANDTHS = 1_000

interface Example {
  readonly features: readonly string[]
  /** The sections that answer the question, the best first. */
  readonly sections: readonly string[]
}

/** Returns the id of a section in the model. A label names an introduction by its guide only; in the model it is `GUIDE#intro`. */
const toModelId = (section: string) => (section.includes('#') ? section : `${section}#intro`)

const { questionFiles, out, excludedAuthorCodes, today } = parseTrainingArguments()
const triggers = loadTriggers()
const toExample = (question: string, sections: readonly string[]): Example => ({
  features: selectSectionFeatures(readFeatures(question, triggers, today)),
  sections,
})
const examples = [
  ...questionFiles
    .flatMap((file) => readTrainingQuestions(file, excludedAuthorCodes))
    .filter(({ expected, sections }) => expected.startsWith('answer:') && sections.length > 0)
    .map(({ question, sections }) => toExample(question, sections.map(toModelId))),
  ...loadSectionAsks().flatMap(({ guide, sections }) =>
    Object.entries(sections).flatMap(([key, { asks }]) =>
      asks.map((ask) => toExample(ask, [`${guide}#${key}`])),
    ),
  ),
]

const exampleCounts = new Map<string, number>()
for (const { features } of examples)
  for (const name of features) exampleCounts.set(name, (exampleCounts.get(name) ?? 0) + 1)
/** The rarity (inverse document frequency) of each feature of the model. */
const rarities = new Map(
  [...exampleCounts]
    .filter(([, count]) => count >= MIN_EXAMPLES_PER_FEATURE)
    .map(([name, count]) => [name, Math.log(examples.length / count)]),
)

const centroids = new Map<string, Map<string, number>>()
for (const { features, sections } of examples) {
  const modelFeatures = features.filter((name) => rarities.has(name))
  const length = Math.hypot(...modelFeatures.map((name) => rarities.get(name) ?? 0)) || 1
  // If several sections answer a question, it counts for them in the ratio 1 : 1/2 : 1/3 …
  const totalShare = sections.reduce((sum, _section, index) => sum + 1 / (index + 1), 0)
  for (const [index, section] of sections.entries()) {
    const centroid = centroids.get(section) ?? new Map<string, number>()
    centroids.set(section, centroid)
    const share = 1 / (index + 1) / totalShare
    for (const name of modelFeatures)
      centroid.set(name, (centroid.get(name) ?? 0) + (share * (rarities.get(name) ?? 0)) / length)
  }
}

const sectionIds = [...centroids.keys()].toSorted()
const weightsByFeature = new Map<string, number[]>()
for (const [index, id] of sectionIds.entries()) {
  const centroid = [...(centroids.get(id) ?? [])]
  const length = Math.hypot(...centroid.map(([, weight]) => weight)) || 1
  const strongestFeatures = centroid
    .toSorted(([nameA, weightA], [nameB, weightB]) => weightB - weightA || (nameA < nameB ? -1 : 1))
    .slice(0, MAX_FEATURES_PER_SECTION)
  for (const [name, weight] of strongestFeatures) {
    const rounded = Math.round((weight / length) * THOUSANDTHS)
    if (rounded === 0) continue
    const weights = weightsByFeature.get(name) ?? []
    weightsByFeature.set(name, weights)
    weights.push(index, rounded)
  }
}

const features = [...weightsByFeature].map(([name, weights]) => ({
  name,
  rarity: rarities.get(name) ?? 0,
  weights: weights.join(' '),
}))
const modelFile = formatModelFile({ sections: sectionIds }, features)
writeFileSync(out ?? new URL('../../data/likely-sections.txt', import.meta.url), modelFile)
console.log(
  `${examples.length} examples, ${sectionIds.length} sections, ${features.length} features, ${Math.round(modelFile.length / 1024)} kB`,
)
