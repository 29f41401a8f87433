import {
  type GuideAsks,
  type GuideSection,
  guideSections,
  headingAnchor,
  type PackagedGuide,
  type QuestionType,
  SYNONYM_WORDS,
  splitWords,
  toQuestionTerms,
  toSearchTerms,
} from '@plainpath/guides'
import { LRUCache } from 'lru-cache'
import MiniSearch from 'minisearch'
import { createSpelling } from '../language/spelling.ts'
import { askIndex } from './ask-index.ts'
import { removeDenials } from './denials.ts'
import { guideWordsFor } from './everyday-names.ts'
import { phraseFinder } from './phrase-finder.ts'
import { questionTypes } from './question-types.ts'

/** A section with the types of information that it gives. */
export interface IndexedSection extends GuideSection {
  readonly types: ReadonlySet<QuestionType>
}

export interface SectionHit {
  readonly section: IndexedSection
  /** Higher is better; comparable within one question only. */
  readonly score: number
  readonly parts: { readonly section: number; readonly ask: number; readonly guide: number }
  /** The score of the nearest ask of the section. */
  readonly ask: number
  /** True if the section answers its nearest ask. */
  readonly answersAsk: boolean
  /** The share of the nearest ask's information that the question has, from 0 to 1. */
  readonly askShare: number
  /** True if the section gives a requested type of information. */
  readonly typeMatches: boolean
}

export interface SectionReading {
  /** Best first. */
  readonly hits: readonly SectionHit[]
  readonly types: ReadonlySet<QuestionType>
  /** The score of the nearest ask of all sections. */
  readonly nearestAsk: number
}

export interface SectionIndex {
  find(question: string): SectionReading
  /** Tells whether guides or asks use this word, given in lower case. */
  isKnown(word: string): boolean
  /** @param id `guide#anchor`; the anchor of a level-3 heading finds the section that it is in */
  section(id: string): IndexedSection | undefined
}

const BOOST = { asks: 2, heading: 1.2, text: 0.7, guide: 1 }
const GUIDE_BOOST = { names: 2.5, asks: 1.5, text: 0.8 }
/** The weights of a section, its nearest ask and its guide in its score, and the gain for a requested type of information. */
const WEIGHTS = { section: 1, ask: 30, guide: 0.7, type: 0.2 }
/** The factor for sections of a guide that is not for the subject of the question. */
const OTHER_GUIDES_SUBJECT = 0.8
const MOST_WORDS = 200

/** The terms of texts. Most texts stay the same when a guide or a switch changes. */
const cachedTerms = new LRUCache<string, readonly string[]>({ max: 10_000 })

const parseTerms = (text: string) => toSearchTerms(splitWords(text))

function parseCachedTerms(text: string): readonly string[] {
  const cached = cachedTerms.get(text)
  if (cached) return cached
  const terms = parseTerms(text)
  cachedTerms.set(text, terms)
  return terms
}

const createSearch = (fields: string[]) =>
  new MiniSearch({
    idField: 'id',
    fields,
    storeFields: [],
    tokenize: (text) => text.split(' '),
    processTerm: (term) => term,
  })

/** Creates an index of the sections of guides, without withdrawn ones. */
export function sectionIndex(
  guides: readonly PackagedGuide[],
  asksOfGuides: readonly GuideAsks[],
  withdrawn: ReadonlySet<string> = new Set(),
): SectionIndex {
  const asksBySlug = new Map(asksOfGuides.map((asks) => [asks.guide, asks]))
  const sections = new Map<string, IndexedSection>()
  const bySection = createSearch(Object.keys(BOOST))
  const byGuide = createSearch(Object.keys(GUIDE_BOOST))
  const vocabulary: string[] = [...SYNONYM_WORDS]
  const allAsks: { section: string; answered: boolean; terms: ReadonlySet<string> }[] = []
  const frequency = new Map<string, number>()
  /** Sections by the ids of their level-3 headings. */
  const parents = new Map<string, string>()
  for (const guide of guides) {
    const guideAsks = asksBySlug.get(guide.slug)
    const names = [guide.title, guide.summary, ...(guideAsks?.names ?? [])].join('\n')
    const parts = guideSections(guide).filter(({ id }) => !withdrawn.has(id))
    for (const part of parts) {
      const { asks: answered = [], near = [], types = [] } = guideAsks?.sections[part.key] ?? {}
      const asks = [...answered, ...near]
      for (const [, heading = ''] of part.markdown.matchAll(/^### +(.+)$/gm))
        parents.set(`${guide.slug}#${headingAnchor(heading)}`, part.id)
      sections.set(part.id, { ...part, types: new Set(types) })
      vocabulary.push(...splitWords(part.text), ...asks.flatMap(splitWords))
      const fields = {
        asks: parseCachedTerms(asks.join('\n')),
        heading: parseCachedTerms(part.heading),
        text: parseCachedTerms(part.text),
        guide: parseCachedTerms(names),
      }
      for (const term of new Set([...fields.asks, ...fields.heading, ...fields.text]))
        frequency.set(term, (frequency.get(term) ?? 0) + 1)
      bySection.add({
        id: part.id,
        ...Object.fromEntries(Object.entries(fields).map(([field, held]) => [field, held.join(' ')])),
      })
      for (const ask of asks)
        allAsks.push({
          section: part.id,
          answered: !near.includes(ask),
          terms: new Set(parseCachedTerms(ask)),
        })
    }
    vocabulary.push(...splitWords(names))
    byGuide.add({
      id: guide.slug,
      names: parseCachedTerms(names).join(' '),
      asks: Object.values(guideAsks?.sections ?? {})
        .flatMap(({ asks, near }) => [...asks, ...near].flatMap(parseCachedTerms))
        .join(' '),
      text: parts.flatMap(({ text }) => parseCachedTerms(text)).join(' '),
    })
  }
  const getWeight = (term: string) => Math.log(1 + sections.size / (frequency.get(term) ?? 1))
  const byAsk = askIndex(allAsks, getWeight)
  const notFor = phraseFinder(
    asksOfGuides.flatMap((asks) => asks.notFor.map((phrase) => [phrase, asks.guide] as const)),
  )
  const spelling = createSpelling(vocabulary, new Set())
  const knownWords = new Set(vocabulary)
  return {
    isKnown: (word) => knownWords.has(word),
    section: (id) => sections.get(id) ?? sections.get(parents.get(id) ?? ''),
    find(question) {
      const words = splitWords(removeDenials(question)).slice(0, MOST_WORDS).map(spelling)
      const own = toQuestionTerms(words)
      const queryTerms = [...new Set([...own, ...parseTerms(guideWordsFor(words).join(' '))])]
      const types = questionTypes(question)
      const otherGuides = new Set(notFor(words))
      const query = queryTerms.join(' ')
      const askMatches = byAsk.match(queryTerms)
      const guideScores = new Map(
        byGuide.search(query, { boost: GUIDE_BOOST }).map(({ id, score }) => [String(id), score]),
      )
      const n = queryTerms.length || 1
      const hits = bySection.search(query, { boost: BOOST }).map(({ id, score }): SectionHit => {
        const section = sections.get(String(id))
        if (section === undefined) throw new Error(`no section ${id}`)
        const ask = askMatches.get(section.id)
        const parts = {
          section: score / n,
          ask: ask?.score ?? 0,
          guide: (guideScores.get(section.guide) ?? 0) / n,
        }
        const typeMatches = [...types].some((type) => section.types.has(type))
        const sum = parts.section * WEIGHTS.section + parts.ask * WEIGHTS.ask + parts.guide * WEIGHTS.guide
        return {
          section,
          score:
            sum *
            (typeMatches ? 1 + WEIGHTS.type : 1) *
            (otherGuides.has(section.guide) ? OTHER_GUIDES_SUBJECT : 1),
          parts,
          ask: parts.ask,
          answersAsk: ask?.answered ?? false,
          askShare: ask?.share ?? 0,
          typeMatches,
        }
      })
      let nearestAsk = 0
      for (const { score } of askMatches.values()) nearestAsk = Math.max(nearestAsk, score)
      return {
        hits: hits.toSorted((a, b) => b.score - a.score || (a.section.id < b.section.id ? -1 : 1)),
        types,
        nearestAsk,
      }
    },
  }
}
