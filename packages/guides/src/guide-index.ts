import MiniSearch from 'minisearch'
import { type Block, bodyBlocks } from './body-blocks.ts'
import type { PackagedGuide } from './packaged-guide.ts'
import { SYNONYM_WORDS, termsOf, termsOfQuestion, wordsOf } from './search-terms.ts'
import { snippetsOf } from './snippet.ts'
import { spellingOf } from './spelling.ts'
import { withoutAttorneySection } from './without-attorney-section.ts'

interface GuideHit {
  readonly slug: string
  /** Higher is better; only to be compared with others of one search. */
  readonly score: number
  /** The part of the text that answers best, as plain text. */
  readonly snippet: string
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
        return { slug, score, snippet: snippets.get(slug)?.(terms) ?? '' }
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
    blocks: blocks.filter(({ kind }) => kind !== 'heading').map(({ text }) => text),
  }
}
