import {
  anchorOf,
  type GuideAsks,
  type GuideSection,
  guideSections,
  type PackagedGuide,
  type QuestionType,
  SYNONYM_WORDS,
  termsOf,
  termsOfQuestion,
  wordsOf,
} from '@plainpath/guides'
import { LRUCache } from 'lru-cache'
import MiniSearch from 'minisearch'
import { spellingOf } from '../language/spelling.ts'
import { askIndex } from './ask-index.ts'
import { withoutDenials } from './denials.ts'
import { guideWordsFor } from './everyday-names.ts'
import { phraseFinder } from './phrase-finder.ts'
import { questionTypes } from './question-types.ts'

/** A section with what is known of the questions that it answers. */
export interface IndexedSection extends GuideSection {
  readonly types: ReadonlySet<QuestionType>
}

export interface SectionHit {
  readonly section: IndexedSection
  /** Higher is better; comparable within one question only. */
  readonly score: number
  readonly parts: { readonly section: number; readonly ask: number; readonly guide: number }
  /** How near the nearest ask of the section is. */
  readonly ask: number
  /** Whether the section answers its nearest ask. */
  readonly answersAsk: boolean
  /** The share of the nearest ask's information that the question has, from 0 to 1. */
  readonly askShare: number
  /** Whether the section answers the kind of question that was asked. */
  readonly typeMatches: boolean
}

export interface SectionReading {
  /** Best first. */
  readonly hits: readonly SectionHit[]
  readonly types: ReadonlySet<QuestionType>
  /** How near the nearest ask of all sections is. */
  readonly nearestAsk: number
}

export interface SectionIndex {
  find(question: string): SectionReading
  /** Whether guides or asks use this word, given in lower case. */
  isKnown(word: string): boolean
  /** @param id `guide#anchor`; the anchor of a level-3 heading finds the section that it is in */
  section(id: string): IndexedSection | undefined
}

const BOOST = { asks: 2, heading: 1.2, text: 0.7, guide: 1 }
const GUIDE_BOOST = { names: 2.5, asks: 1.5, text: 0.8 }
/** What the section, its nearest ask and its guide weigh in a score; and what it gains when it answers the kind of question. */
const WEIGHTS = { section: 1, ask: 30, guide: 0.7, type: 0.2 }
/** What is left of a section's score when the question names a subject that its guide is not for. */
const OTHER_GUIDES_SUBJECT = 0.8
const MOST_WORDS = 200

/** The terms of texts of guides, most of which are the same when a guide or a switch changes. */
const termsOfTexts = new LRUCache<string, readonly string[]>({ max: 10_000 })

const termsIn = (text: string) => termsOf(wordsOf(text))

function termsOfText(text: string): readonly string[] {
  const known = termsOfTexts.get(text)
  if (known) return known
  const terms = termsIn(text)
  termsOfTexts.set(text, terms)
  return terms
}

const searchOf = (fields: string[]) =>
  new MiniSearch({
    idField: 'id',
    fields,
    storeFields: [],
    tokenize: (text) => text.split(' '),
    processTerm: (term) => term,
  })

export function sectionIndex(
  guides: readonly PackagedGuide[],
  asksOfGuides: readonly GuideAsks[],
  withdrawn: ReadonlySet<string> = new Set(),
): SectionIndex {
  const asksBySlug = new Map(asksOfGuides.map((asks) => [asks.guide, asks]))
  const sections = new Map<string, IndexedSection>()
  const bySection = searchOf(Object.keys(BOOST))
  const byGuide = searchOf(Object.keys(GUIDE_BOOST))
  const vocabulary: string[] = [...SYNONYM_WORDS]
  const allAsks: { section: string; answered: boolean; terms: ReadonlySet<string> }[] = []
  const frequency = new Map<string, number>()
  /** Sections by the ids of their level-3 headings. */
  const parents = new Map<string, string>()
  for (const guide of guides) {
    const known = asksBySlug.get(guide.slug)
    const names = [guide.title, guide.summary, ...(known?.names ?? [])].join('\n')
    const parts = guideSections(guide).filter(({ id }) => !withdrawn.has(id))
    for (const part of parts) {
      const { asks: answered = [], near = [], types = [] } = known?.sections[part.key] ?? {}
      const asks = [...answered, ...near]
      for (const [, heading = ''] of part.markdown.matchAll(/^### +(.+)$/gm))
        parents.set(`${guide.slug}#${anchorOf(heading)}`, part.id)
      sections.set(part.id, { ...part, types: new Set(types) })
      vocabulary.push(...wordsOf(part.text), ...asks.flatMap(wordsOf))
      const fields = {
        asks: termsOfText(asks.join('\n')),
        heading: termsOfText(part.heading),
        text: termsOfText(part.text),
        guide: termsOfText(names),
      }
      for (const term of new Set([...fields.asks, ...fields.heading, ...fields.text]))
        frequency.set(term, (frequency.get(term) ?? 0) + 1)
      bySection.add({
        id: part.id,
        ...Object.fromEntries(Object.entries(fields).map(([field, held]) => [field, held.join(' ')])),
      })
      for (const ask of asks)
        allAsks.push({ section: part.id, answered: !near.includes(ask), terms: new Set(termsOfText(ask)) })
    }
    vocabulary.push(...wordsOf(names))
    byGuide.add({
      id: guide.slug,
      names: termsOfText(names).join(' '),
      asks: Object.values(known?.sections ?? {})
        .flatMap(({ asks, near }) => [...asks, ...near].flatMap(termsOfText))
        .join(' '),
      text: parts.flatMap(({ text }) => termsOfText(text)).join(' '),
    })
  }
  const weightOf = (term: string) => Math.log(1 + sections.size / (frequency.get(term) ?? 1))
  const byAsk = askIndex(allAsks, weightOf)
  const notFor = phraseFinder(
    asksOfGuides.flatMap((asks) => asks.notFor.map((phrase) => [phrase, asks.guide] as const)),
  )
  const spelling = spellingOf(vocabulary, new Set())
  const known = new Set(vocabulary)
  return {
    isKnown: (word) => known.has(word),
    section: (id) => sections.get(id) ?? sections.get(parents.get(id) ?? ''),
    find(question) {
      const words = wordsOf(withoutDenials(question)).slice(0, MOST_WORDS).map(spelling)
      const own = termsOfQuestion(words)
      const asked = [...new Set([...own, ...termsIn(guideWordsFor(words).join(' '))])]
      const types = questionTypes(question)
      const otherGuides = new Set(notFor(words))
      const query = asked.join(' ')
      const askMatches = byAsk.match(asked)
      const guideScores = new Map(
        byGuide.search(query, { boost: GUIDE_BOOST }).map(({ id, score }) => [String(id), score]),
      )
      const n = asked.length || 1
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
