import { ATTORNEY_HEADING, type Block, bodyBlocks, CHANGES_HEADING, SOURCE_MARKER } from './guide-body.ts'
import { sentencesOf } from './reading-grade.ts'

/** What a guide states in one sentence or list item, without markers, and the ids of the sources that support it. */
export interface Statement {
  readonly text: string
  readonly sources: readonly string[]
}

/** The statements of a body, in order. The sources of a paragraph support each of its sentences. */
export const statementsOf = (body: string): readonly Statement[] => factBlocks(body).flatMap(statementsIn)

/** A list item is one statement, a paragraph one for each sentence. */
function statementsIn({ kind, text }: Block): readonly Statement[] {
  const sources = sourceIdsIn(text)
  const sentences = sentencesOf(text)
  return (kind === 'item' ? [sentences.join(' ')] : sentences).map((sentence) => ({
    text: sentence,
    sources,
  }))
}

/**
 * The blocks that state facts, so that each needs a source: all but headings, lines that introduce a list (which are read
 * with the list), and the last two sections, which hold links and the list of triggers.
 */
export function factBlocks(body: string): readonly Block[] {
  const blocks = bodyBlocks(body)
  const introduces = ({ text }: Block, index: number) =>
    withoutMarkers(text).endsWith(':') && blocks[index + 1]?.kind === 'item'
  return blocks.filter(
    (block, index) =>
      block.kind !== 'heading' &&
      block.section !== CHANGES_HEADING &&
      block.section !== ATTORNEY_HEADING &&
      !introduces(block, index),
  )
}

export const sourceIdsIn = (text: string): readonly string[] =>
  [...text.matchAll(SOURCE_MARKER)].flatMap(([, id]) => id ?? [])

const withoutMarkers = (text: string) => text.replace(SOURCE_MARKER, '').trim()

const EXTERNAL_LINK = /\]\((?<address>https:\/\/[^()\s]+)\)/g
const PHONE_NUMBER = /(?<![\d-])(?:1-)?\d{3}-\d{3}-\d{4}(?![\d-])/g

/** Links to other sites, and phone numbers. */
const contactsIn = (text: string): readonly string[] => [
  ...[...text.matchAll(EXTERNAL_LINK)].flatMap(({ groups }) => groups?.['address'] ?? []),
  ...[...text.replace(EXTERNAL_LINK, '').matchAll(PHONE_NUMBER)].map(([number]) => number),
]

/** True for a block that holds a link or phone number, and cites no source. */
export const isUnchecked = ({ text }: Block): boolean =>
  sourceIdsIn(text).length === 0 && contactsIn(text).length > 0

/** The links and phone numbers that no source of the guide supports, each once. */
export const uncheckedContacts = (body: string): readonly string[] => [
  ...new Set(
    bodyBlocks(body)
      .filter(isUnchecked)
      .flatMap(({ text }) => contactsIn(text)),
  ),
]
