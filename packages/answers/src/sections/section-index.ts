import { createByteBoundOptions } from '@plainpath/domain'
import {
  createTextSearch,
  type GuideAsks,
  type GuideSection,
  INTRO,
  listGuideSections,
  type PackagedGuide,
  type QuestionType,
  type SearchableText,
  SYNONYM_WORDS,
  splitWords,
  stemWord,
  toHeadingAnchor,
  toQuestionTerms,
  toSearchTerms,
} from '@plainpath/guides'
import { LRUCache } from 'lru-cache'
import { createOneMistakeCorrector } from '../language/spelling.ts'
import { createAskIndex } from './ask-index.ts'
import { removeDenials } from './denials.ts'
import { findGuideTermWords } from './everyday-phrases.ts'
import { createPhraseFinder } from './phrase-finder.ts'
import { countQuestions, detectQuestionTypes } from './question-types.ts'

/** A section, with the types of information that it gives. */
export interface IndexedSection extends GuideSection {
  readonly types: ReadonlySet<QuestionType>
  /** The id of the section in the model of likely sections: `guide#key`, also for an introduction, whose `id` is the guide's. */
  readonly modelId: string
}

export interface SectionHit {
  readonly section: IndexedSection
  /** Higher is better. Comparable only within one question. */
  readonly score: number
  /**
   * The unweighted scores of the section's own text, its nearest ask and its guide. An ask is a question in
   * `sections/` of the guides package: the section answers it, or is only near its subject.
   */
  readonly scoreParts: { readonly section: number; readonly ask: number; readonly guide: number }
  /** True if the section answers its nearest ask. */
  readonly isAskAnswered: boolean
  /** The types of information that the nearest ask asks for. */
  readonly askTypes: ReadonlySet<QuestionType>
  /** The share of the nearest ask's information that is in the question, from 0 to 1. */
  readonly askShare: number
  /** The share of the question's information that is in the nearest ask, from 0 to 1. */
  readonly questionShare: number
  /** True if the section gives a requested type of information. */
  readonly typeMatches: boolean
}

export interface SectionReading {
  /** Best first. */
  readonly hits: readonly SectionHit[]
  readonly types: ReadonlySet<QuestionType>
  /** The greatest of the similarities in `LikelySubjects.sections`; 0 if there is none. */
  readonly maxSimilarity: number
  /** The number of questions in the text, as `countQuestions` counts them. */
  readonly questionCount: number
}

/** The guides and sections that a question is likely about, according to the models. */
export interface LikelySubjects {
  /** The probability of each guide, from 0 to 1, if the question is about a guide's subject. */
  readonly guides: ReadonlyMap<string, number>
  /** The similarity to the labelled questions that each section answers, from 0 to 1, by `guide#key`. */
  readonly sections: ReadonlyMap<string, number>
}

export interface SectionIndex {
  /**
   * Finds the sections that match a question.
   *
   * @param likelySubjects the likely subjects of the question according to the models; without them, only words count
   */
  find(question: string, likelySubjects?: LikelySubjects): SectionReading
  /** Returns whether guides or asks use a lower-case word. */
  isKnownWord(word: string): boolean
  /**
   * Returns a section.
   *
   * @param id `guide#anchor`; the anchor of a level-3 heading selects the section that contains it
   */
  get(id: string): IndexedSection | undefined
}

/** The weights of a match in the fields of a section. */
const SECTION_FIELD_WEIGHTS = { asks: 2, heading: 1.2, text: 0.7, guide: 1 }
/** The weights of a match in the fields of a guide. */
const GUIDE_FIELD_WEIGHTS = { names: 2.5, asks: 1.5, text: 0.8 }
/** The weights, in a section's score, of its own text, its nearest ask, its guide, and a requested type of information. */
const WEIGHTS = { section: 1, ask: 30, guide: 0.7, type: 0.9 }
/** The gain for sections of a guide that the model is certain about. */
const LIKELY_GUIDE_GAIN = 1
/** The gain for the most similar section. Another section's gain is lower by the square of its relative similarity. */
const LIKELY_SECTION_GAIN = 1.3
/** The score factor for sections of a guide if the question has a phrase of the guide's `notFor`. */
const OTHER_SUBJECT_FACTOR = 0.8
/** The score factor for a guide's introduction, which mentions its subject but answers little. */
const INTRO_FACTOR = 0.7
const NO_TYPES: ReadonlySet<QuestionType> = new Set()
/** Further words of a question are ignored. */
const MAX_WORDS = 200

/** Twice the memory of the terms of all guides (estimated by `createByteBoundOptions`). */
const MAX_TERMS_BYTES = 8_000_000
/** Caches the terms of texts, because most texts do not change when a guide or a switch changes. */
const termsByText = new LRUCache<string, readonly string[]>(createByteBoundOptions(MAX_TERMS_BYTES))

const parseTerms = (text: string) => toSearchTerms(splitWords(text))

function parseCachedTerms(text: string): readonly string[] {
  const cachedTerms = termsByText.get(text)
  if (cachedTerms) return cachedTerms
  const terms = parseTerms(text)
  termsByText.set(text, terms)
  return terms
}

/** Creates a search index of all guide sections that are not withdrawn. */
export function createSectionIndex(
  guides: readonly PackagedGuide[],
  guideAskFiles: readonly GuideAsks[],
  withdrawnSections: ReadonlySet<string> = new Set(),
): SectionIndex {
  const asksBySlug = new Map(guideAskFiles.map((asks) => [asks.guide, asks]))
  const sections = new Map<string, IndexedSection>()
  const searchedSections: {
    readonly section: IndexedSection
    readonly fields: SearchableText<keyof typeof SECTION_FIELD_WEIGHTS>
  }[] = []
  const guideTexts: SearchableText<keyof typeof GUIDE_FIELD_WEIGHTS>[] = []
  const vocabulary: string[] = [...SYNONYM_WORDS]
  const indexedAsks: {
    section: string
    isAnswered: boolean
    types: ReadonlySet<QuestionType>
    terms: ReadonlySet<string>
  }[] = []
  /** The number of sections that contain each term. */
  const sectionCounts = new Map<string, number>()
  /** The section ids by `guide#anchor` of their level-3 headings. */
  const sectionIdsByHeading = new Map<string, string>()
  for (const guide of guides) {
    const guideAsks = asksBySlug.get(guide.slug)
    const names = [guide.title, guide.summary, ...(guideAsks?.names ?? [])].join('\n')
    const guideSections = listGuideSections(guide).filter(({ id }) => !withdrawnSections.has(id))
    for (const guideSection of guideSections) {
      const {
        asks: answeredAsks = [],
        near: nearAsks = [],
        types = [],
      } = guideAsks?.sections[guideSection.key] ?? {}
      const asks = [...answeredAsks, ...nearAsks]
      for (const [, heading = ''] of guideSection.markdown.matchAll(/^### +(.+)$/gm))
        sectionIdsByHeading.set(`${guide.slug}#${toHeadingAnchor(heading)}`, guideSection.id)
      const section = {
        ...guideSection,
        types: new Set(types),
        modelId: `${guide.slug}#${guideSection.key}`,
      }
      sections.set(section.id, section)
      vocabulary.push(...splitWords(section.text), ...asks.flatMap(splitWords))
      const fields = {
        asks: parseCachedTerms(asks.join('\n')),
        heading: parseCachedTerms(section.heading),
        text: parseCachedTerms(section.text),
        guide: parseCachedTerms(names),
      }
      for (const term of new Set([...fields.asks, ...fields.heading, ...fields.text]))
        sectionCounts.set(term, (sectionCounts.get(term) ?? 0) + 1)
      searchedSections.push({ section, fields })
      for (const ask of asks)
        indexedAsks.push({
          section: section.id,
          isAnswered: !nearAsks.includes(ask),
          types: detectQuestionTypes(ask),
          terms: new Set(parseCachedTerms(ask)),
        })
    }
    vocabulary.push(...splitWords(names))
    guideTexts.push({
      names: parseCachedTerms(names),
      asks: Object.values(guideAsks?.sections ?? {}).flatMap(({ asks, near }) =>
        [...asks, ...near].flatMap(parseCachedTerms),
      ),
      text: guideSections.flatMap(({ text }) => parseCachedTerms(text)),
    })
  }
  const findSections = createTextSearch(
    searchedSections.map(({ fields }) => fields),
    SECTION_FIELD_WEIGHTS,
  )
  const findGuides = createTextSearch(guideTexts, GUIDE_FIELD_WEIGHTS)
  const getWeight = (term: string) => Math.log(1 + sections.size / (sectionCounts.get(term) ?? 1))
  const askIndex = createAskIndex(indexedAsks, getWeight)
  const findExcludedGuides = createPhraseFinder(
    guideAskFiles.flatMap((asks) => asks.notFor.map((phrase) => [phrase, asks.guide] as const)),
  )
  const correctSpelling = createOneMistakeCorrector(vocabulary, new Set())
  const knownWords = new Set(vocabulary)
  return {
    isKnownWord: (word) => knownWords.has(word),
    get: (id) => sections.get(id) ?? sections.get(sectionIdsByHeading.get(id) ?? ''),
    find(question, likelySubjects) {
      const maxSimilarity = Math.max(0, ...(likelySubjects?.sections.values() ?? []))
      const words = splitWords(removeDenials(question)).slice(0, MAX_WORDS).map(correctSpelling)
      const stems = words.map(stemWord)
      const questionTerms = toQuestionTerms(words)
      const queryTerms = [...new Set([...questionTerms, ...parseTerms(findGuideTermWords(stems).join(' '))])]
      const types = detectQuestionTypes(question)
      // An array, because each hit searches it, and a set has no `some`.
      const typeList = [...types]
      const excludedGuides = new Set(findExcludedGuides(stems))
      const askMatches = askIndex.match(queryTerms)
      const guideScores = new Map(
        findGuides(queryTerms).map(({ index, score }) => [guides[index]?.slug, score]),
      )
      const termCount = queryTerms.length || 1
      const hits = findSections(queryTerms).map(({ index, score }): SectionHit => {
        const section = searchedSections[index]?.section
        if (section === undefined) throw new Error(`no section ${index}`)
        const relativeSimilarity = (likelySubjects?.sections.get(section.modelId) ?? 0) / (maxSimilarity || 1)
        const ask = askMatches.get(section.id)
        const scoreParts = {
          section: score / termCount,
          ask: ask?.score ?? 0,
          guide: (guideScores.get(section.guide) ?? 0) / termCount,
        }
        const typeMatches = typeList.some((type) => section.types.has(type))
        const weightedSum =
          scoreParts.section * WEIGHTS.section +
          scoreParts.ask * WEIGHTS.ask +
          scoreParts.guide * WEIGHTS.guide
        return {
          section,
          score:
            weightedSum *
            (typeMatches ? 1 + WEIGHTS.type : 1) *
            (1 + LIKELY_GUIDE_GAIN * (likelySubjects?.guides.get(section.guide) ?? 0)) *
            (1 + LIKELY_SECTION_GAIN * relativeSimilarity ** 2) *
            (excludedGuides.has(section.guide) ? OTHER_SUBJECT_FACTOR : 1) *
            (section.key === INTRO ? INTRO_FACTOR : 1),
          scoreParts,
          isAskAnswered: ask?.isAnswered ?? false,
          askTypes: ask?.types ?? NO_TYPES,
          askShare: ask?.share ?? 0,
          questionShare: ask?.questionShare ?? 0,
          typeMatches,
        }
      })
      return {
        hits: hits.toSorted((a, b) => b.score - a.score || (a.section.id < b.section.id ? -1 : 1)),
        types,
        maxSimilarity,
        questionCount: countQuestions(question),
      }
    },
  }
}
