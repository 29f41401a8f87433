import MiniSearch from 'minisearch'
import { type Block, bodyBlocks, withoutAttorneySection } from './guide-body.ts'
import { anchorOf } from './guide-sections.ts'
import type { PackagedGuide } from './packaged-guide.ts'
import { sentencesOf } from './reading-grade.ts'
import { SYNONYM_WORDS, spellingOf, termsOf, termsOfQuestion, wordsOf } from './search-terms.ts'

interface GuideHit {
  readonly slug: string
  /** Higher is better; only to be compared with others of one search. */
  readonly score: number
  /** The part of the text that answers best, as plain text. */
  readonly snippet: string
  /** The section that the snippet is of; none if it stands before the first heading. */
  readonly section: MatchedSection | undefined
}

interface MatchedSection {
  readonly heading: string
  /** The anchor of the heading on the guide's page. */
  readonly anchor: string
}

export interface GuideIndex {
  /** Guides with any of the words, best first. Only the first words of a long text count. */
  search(text: string, limit: number): readonly GuideHit[]
}

/** How much a word counts by where it stands. */
const BOOST = { title: 3, summary: 2, headings: 2, audience: 1, body: 1.5, triggers: 0.3 }
const MOST_WORDS = 40

const FIELDS = Object.keys(BOOST) as (keyof typeof BOOST)[]

/** An index of these guides in memory. It knows synonyms and forgives spelling. */
export function guideIndex(guides: readonly PackagedGuide[]): GuideIndex {
  const texts = guides.map(textsOf)
  const vocabulary = texts.flatMap((text) => FIELDS.flatMap((field) => wordsOf(text[field])))
  const spelling = spellingOf([...vocabulary, ...SYNONYM_WORDS])
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
      ...Object.fromEntries(FIELDS.map((field) => [field, termsOf(wordsOf(text[field])).join(' ')])),
    })),
  )
  const snippets = new Map(texts.map(({ slug, blocks }) => [slug, snippetsOf(blocks)]))
  return {
    search(text, limit) {
      const words = wordsOf(text).slice(0, MOST_WORDS).map(spelling.correct)
      const terms = termsOfQuestion(words)
      if (terms.length === 0) return []
      const hits = index.search(terms.join(' ')).slice(0, limit)
      return hits.map(({ id, score }) => {
        const slug = String(id)
        return { slug, score, ...(snippets.get(slug)?.(terms) ?? NO_SNIPPET) }
      })
    },
  }
}

function textsOf(guide: PackagedGuide) {
  const blocks = bodyBlocks(withoutAttorneySection(guide.body))
  const joined = (chosen: readonly Block[]) => chosen.map(({ text }) => text).join('\n')
  return {
    slug: guide.slug,
    title: guide.title,
    summary: guide.summary,
    audience: guide.audience,
    headings: joined(blocks.filter(({ kind }) => kind === 'heading')),
    body: joined(blocks.filter(({ kind }) => kind !== 'heading')),
    triggers: guide.talkToAnAttorneyWhen.join('\n'),
    blocks: blocks.filter(({ kind }) => kind !== 'heading'),
  }
}

const LONGEST = 240

interface Sentence {
  readonly terms: ReadonlySet<string>
  /** It, and what follows it in its paragraph while there is room; plain text. */
  readonly text: string
  /** The level-2 heading above it. */
  readonly heading: string | undefined
}

type Snippet = Pick<GuideHit, 'snippet' | 'section'>

const NO_SNIPPET: Snippet = { snippet: '', section: undefined }

/** Chooses from a text the sentence that holds the most of the terms it is given, the first of equals. */
function snippetsOf(blocks: readonly Block[]): (terms: readonly string[]) => Snippet {
  let sentences: readonly Sentence[] | undefined
  return (terms) => {
    sentences ??= blocks.flatMap(sentencesIn)
    let best: { sentence: Sentence | undefined; found: number } = { sentence: undefined, found: -1 }
    for (const sentence of sentences) {
      const found = terms.filter((term) => sentence.terms.has(term)).length
      if (found > best.found) best = { sentence, found }
    }
    if (best.sentence === undefined) return NO_SNIPPET
    const { text, heading } = best.sentence
    return {
      snippet: text,
      section: heading === undefined ? undefined : { heading, anchor: anchorOf(heading) },
    }
  }
}

function sentencesIn({ text, section }: Block): Sentence[] {
  const sentences = sentencesOf(text)
  return sentences.map((sentence, at) => ({
    terms: new Set(termsOf(wordsOf(sentence))),
    text: shortened(sentences.slice(at)),
    heading: section,
  }))
}

function shortened([first = '', ...others]: readonly string[]): string {
  let text = first
  for (const next of others) {
    if (text.length + next.length + 1 > LONGEST) break
    text += ` ${next}`
  }
  return text.length <= LONGEST ? text : `${text.slice(0, text.lastIndexOf(' ', LONGEST - 2))} …`
}
