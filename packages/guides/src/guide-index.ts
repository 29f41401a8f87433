import { type Block, parseBlocks, removeAttorneySection, WITHDRAWN_NOTICE } from './guide-body.ts'
import { toHeadingAnchor } from './guide-sections.ts'
import type { PackagedGuide } from './packaged-guide.ts'
import { splitSentences } from './reading-grade.ts'
import {
  createSpellingCorrector,
  SYNONYM_WORDS,
  splitWords,
  toQuestionTerms,
  toSearchTerms,
} from './search-terms.ts'
import { createTextSearch } from './text-search.ts'

interface GuideHit {
  readonly slug: string
  /** Higher is better. Comparable only within one search. */
  readonly score: number
  /** The sentence that matches the most search terms, and the rest of its paragraph, up to 240 characters, as plain text. */
  readonly snippet: string
  /** The section that contains the snippet; undefined for text before the first heading. */
  readonly section: MatchedSection | undefined
}

interface MatchedSection {
  readonly heading: string
  /** The heading's anchor on the guide page. */
  readonly anchor: string
}

export interface GuideIndex {
  /** Finds guides that contain any of the words or a synonym, best match first. Words after the first 40 are ignored. */
  search(text: string, limit: number): readonly GuideHit[]
  /**
   * Returns distinct words of the guides and synonyms that are similar to words of the text. Words of the text after the first
   * five are ignored.
   */
  suggestWords(text: string, limit: number): readonly string[]
}

/** The weight of a match in each field. */
const FIELD_WEIGHTS = { title: 3, summary: 2, headings: 2, audience: 1, body: 1.5, triggers: 0.3 }
const MAX_WORDS = 40
const MAX_WORDS_TO_SUGGEST_FOR = 5
const MAX_WORD_LENGTH = 30

type Field = keyof typeof FIELD_WEIGHTS
const FIELDS = Object.keys(FIELD_WEIGHTS) as Field[]
const mapFields = (toTerms: (field: Field) => readonly string[]) =>
  Object.fromEntries(FIELDS.map((field) => [field, toTerms(field)])) as Record<Field, readonly string[]>

/** Creates an in-memory search index of the guides, with synonyms and spelling correction. */
export function createGuideIndex(guides: readonly PackagedGuide[]): GuideIndex {
  const texts = guides.map(extractFields)
  const vocabulary = texts.flatMap((text) => FIELDS.flatMap((field) => splitWords(text[field])))
  const spellingCorrector = createSpellingCorrector([...vocabulary, ...SYNONYM_WORDS])
  const findTexts = createTextSearch(
    texts.map((text) => mapFields((field) => toSearchTerms(splitWords(text[field])))),
    FIELD_WEIGHTS,
  )
  const snippets = texts.map(({ blocks }) => createSnippetFinder(blocks))
  return {
    search(query, limit) {
      const words = splitWords(query).slice(0, MAX_WORDS).map(spellingCorrector.correct)
      const terms = toQuestionTerms(words)
      if (terms.length === 0) return []
      const hits = findTexts(terms).toSorted((a, b) => b.score - a.score)
      return hits.slice(0, limit).map(({ index, score }) => ({
        slug: texts[index]?.slug ?? '',
        score,
        ...(snippets[index]?.(terms) ?? NO_SNIPPET),
      }))
    },
    suggestWords(text, limit) {
      const words = splitWords(text).slice(0, MAX_WORDS_TO_SUGGEST_FOR)
      const suggestions = words
        .filter(({ length }) => length <= MAX_WORD_LENGTH)
        .map(spellingCorrector.findSimilar)
      // Every word's best suggestion comes before any word's second best.
      const suggestionsByRank = Array.from({ length: limit }, (_, rank) =>
        suggestions.flatMap((similarWords) => similarWords[rank] ?? []),
      )
      return [...new Set(suggestionsByRank.flat())].slice(0, limit)
    },
  }
}

function extractFields(guide: PackagedGuide) {
  const allBlocks = parseBlocks(removeAttorneySection(guide.body))
  const blocks = allBlocks.filter(({ text }) => text !== WITHDRAWN_NOTICE)
  const joinTexts = (selected: readonly Block[]) => selected.map(({ text }) => text).join('\n')
  return {
    slug: guide.slug,
    title: guide.title,
    summary: guide.summary,
    audience: guide.audience,
    headings: joinTexts(blocks.filter(({ kind }) => kind === 'heading')),
    body: joinTexts(blocks.filter(({ kind }) => kind !== 'heading')),
    triggers: guide.talkToAnAttorneyWhen.join('\n'),
    blocks: blocks.filter(({ kind }) => kind !== 'heading'),
  }
}

const MAX_SNIPPET_LENGTH = 240

interface Sentence {
  readonly terms: ReadonlySet<string>
  /** The sentence and the rest of its paragraph, up to 240 characters, as plain text. */
  readonly text: string
  /** The nearest level-2 heading above the sentence. */
  readonly heading: string | undefined
}

type Snippet = Pick<GuideHit, 'snippet' | 'section'>

const NO_SNIPPET: Snippet = { snippet: '', section: undefined }

/** Creates a function that finds the sentence with the most matching terms, or the first of several. */
function createSnippetFinder(blocks: readonly Block[]): (terms: readonly string[]) => Snippet {
  let sentences: readonly Sentence[] | undefined
  return (terms) => {
    sentences ??= blocks.flatMap(indexSentences)
    let bestMatch: { sentence: Sentence | undefined; matchCount: number } = {
      sentence: undefined,
      matchCount: -1,
    }
    for (const sentence of sentences) {
      const matchCount = terms.filter((term) => sentence.terms.has(term)).length
      if (matchCount > bestMatch.matchCount) bestMatch = { sentence, matchCount }
    }
    if (bestMatch.sentence === undefined) return NO_SNIPPET
    const { text, heading } = bestMatch.sentence
    return {
      snippet: text,
      section: heading === undefined ? undefined : { heading, anchor: toHeadingAnchor(heading) },
    }
  }
}

function indexSentences({ text, section }: Block): Sentence[] {
  const sentences = splitSentences(text)
  return sentences.map((sentence, index) => ({
    terms: new Set(toSearchTerms(splitWords(sentence))),
    text: joinUpToMaxLength(sentences.slice(index)),
    heading: section,
  }))
}

function joinUpToMaxLength([firstSentence = '', ...laterSentences]: readonly string[]): string {
  let text = firstSentence
  for (const sentence of laterSentences) {
    if (text.length + sentence.length + 1 > MAX_SNIPPET_LENGTH) break
    text += ` ${sentence}`
  }
  if (text.length <= MAX_SNIPPET_LENGTH) return text
  // A single long sentence is cut between words if it has a blank.
  const ellipsis = ' …'
  const maxLength = MAX_SNIPPET_LENGTH - ellipsis.length
  const lastBlank = text.lastIndexOf(' ', maxLength)
  return text.slice(0, lastBlank > 0 ? lastBlank : maxLength) + ellipsis
}
