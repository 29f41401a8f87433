import MiniSearch from 'minisearch'
import { type Block, parseBlocks, withoutAttorneySection } from './guide-body.ts'
import { headingAnchor } from './guide-sections.ts'
import type { PackagedGuide } from './packaged-guide.ts'
import { splitSentences } from './reading-grade.ts'
import { createSpelling, SYNONYM_WORDS, splitWords, toQuestionTerms, toSearchTerms } from './search-terms.ts'

interface GuideHit {
  readonly slug: string
  /** Higher is better. Comparable only within one search. */
  readonly score: number
  /** The sentence with the most terms of the search, and what follows it, as plain text. */
  readonly snippet: string
  /** The section of the snippet; undefined before the first heading. */
  readonly section: MatchedSection | undefined
}

interface MatchedSection {
  readonly heading: string
  /** The anchor of the heading on the guide's page. */
  readonly anchor: string
}

export interface GuideIndex {
  /** Finds guides with any of the words, best first. Words after the first 40 are ignored. */
  search(text: string, limit: number): readonly GuideHit[]
  /** Finds words of the guides that are similar to those of the text, without repeats. Words after the first five are ignored. */
  near(text: string, limit: number): readonly string[]
}

/** The weight of a word by the field in which it occurs. */
const BOOST = { title: 3, summary: 2, headings: 2, audience: 1, body: 1.5, triggers: 0.3 }
const MAX_WORDS = 40
const MAX_NEAR_WORDS = 5
const MAX_WORD_LENGTH = 30

const FIELDS = Object.keys(BOOST) as (keyof typeof BOOST)[]

/** Creates a search index of guides in memory, with synonyms and spelling correction. */
export function guideIndex(guides: readonly PackagedGuide[]): GuideIndex {
  const texts = guides.map(extractFields)
  const vocabulary = texts.flatMap((text) => FIELDS.flatMap((field) => splitWords(text[field])))
  const spelling = createSpelling([...vocabulary, ...SYNONYM_WORDS])
  const index = new MiniSearch({
    idField: 'slug',
    fields: FIELDS,
    tokenize: (text) => text.split(' '),
    processTerm: (term) => term,
    searchOptions: { boost: BOOST, combineWith: 'OR' },
  })
  index.addAll(
    texts.map((text) => ({
      slug: text.slug,
      ...Object.fromEntries(FIELDS.map((field) => [field, toSearchTerms(splitWords(text[field])).join(' ')])),
    })),
  )
  const snippets = new Map(texts.map(({ slug, blocks }) => [slug, snippetFinder(blocks)]))
  return {
    search(text, limit) {
      const words = splitWords(text).slice(0, MAX_WORDS).map(spelling.correct)
      const terms = toQuestionTerms(words)
      if (terms.length === 0) return []
      const hits = index.search(terms.join(' ')).slice(0, limit)
      return hits.map(({ id, score }) => {
        const slug = String(id)
        return { slug, score, ...(snippets.get(slug)?.(terms) ?? NO_SNIPPET) }
      })
    },
    near(text, limit) {
      const words = splitWords(text).slice(0, MAX_NEAR_WORDS)
      const similar = words.filter(({ length }) => length <= MAX_WORD_LENGTH).map(spelling.near)
      // The best of each word before the second best of any.
      const inTurn = Array.from({ length: limit }, (_, rank) => similar.flatMap((found) => found[rank] ?? []))
      return [...new Set(inTurn.flat())].slice(0, limit)
    },
  }
}

function extractFields(guide: PackagedGuide) {
  const blocks = parseBlocks(withoutAttorneySection(guide.body))
  const join = (selected: readonly Block[]) => selected.map(({ text }) => text).join('\n')
  return {
    slug: guide.slug,
    title: guide.title,
    summary: guide.summary,
    audience: guide.audience,
    headings: join(blocks.filter(({ kind }) => kind === 'heading')),
    body: join(blocks.filter(({ kind }) => kind !== 'heading')),
    triggers: guide.talkToAnAttorneyWhen.join('\n'),
    blocks: blocks.filter(({ kind }) => kind !== 'heading'),
  }
}

const MAX_SNIPPET_LENGTH = 240

interface Sentence {
  readonly terms: ReadonlySet<string>
  /** The sentence and those that follow in its paragraph, up to 240 characters, as plain text. */
  readonly text: string
  /** The level-2 heading above it. */
  readonly heading: string | undefined
}

type Snippet = Pick<GuideHit, 'snippet' | 'section'>

const NO_SNIPPET: Snippet = { snippet: '', section: undefined }

/** Returns a function that finds the sentence with the most of the given terms; of equal ones, the first. */
function snippetFinder(blocks: readonly Block[]): (terms: readonly string[]) => Snippet {
  let sentences: readonly Sentence[] | undefined
  return (terms) => {
    sentences ??= blocks.flatMap(indexSentences)
    let best: { sentence: Sentence | undefined; found: number } = { sentence: undefined, found: -1 }
    for (const sentence of sentences) {
      const found = terms.filter((term) => sentence.terms.has(term)).length
      if (found > best.found) best = { sentence, found }
    }
    if (best.sentence === undefined) return NO_SNIPPET
    const { text, heading } = best.sentence
    return {
      snippet: text,
      section: heading === undefined ? undefined : { heading, anchor: headingAnchor(heading) },
    }
  }
}

function indexSentences({ text, section }: Block): Sentence[] {
  const sentences = splitSentences(text)
  return sentences.map((sentence, at) => ({
    terms: new Set(toSearchTerms(splitWords(sentence))),
    text: limitLength(sentences.slice(at)),
    heading: section,
  }))
}

function limitLength([first = '', ...others]: readonly string[]): string {
  let text = first
  for (const next of others) {
    if (text.length + next.length + 1 > MAX_SNIPPET_LENGTH) break
    text += ` ${next}`
  }
  return text.length <= MAX_SNIPPET_LENGTH
    ? text
    : `${text.slice(0, text.lastIndexOf(' ', MAX_SNIPPET_LENGTH - 2))} …`
}
