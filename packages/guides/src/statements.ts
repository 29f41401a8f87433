import {
  ATTORNEY_HEADING,
  type Block,
  CHANGES_HEADING,
  parseBlocks,
  SOURCE_MARKER,
  WITHDRAWN_NOTICE,
} from './guide-body.ts'
import { splitSentences } from './reading-grade.ts'

/** One sentence or list item of a guide, without markers, and the ids of the sources that support it. */
export interface Statement {
  readonly text: string
  readonly sources: readonly string[]
}

/** Lists the statements of a body, in order. The sources of a paragraph support each of its sentences. */
export const listStatements = (body: string): readonly Statement[] =>
  listFactBlocks(body).flatMap(splitStatements)

/** Splits a block into statements. A list item is one statement; a paragraph has one for each sentence. */
function splitStatements({ kind, text }: Block): readonly Statement[] {
  const sources = findSourceIds(text)
  const sentences = splitSentences(text)
  return (kind === 'item' ? [sentences.join(' ')] : sentences).map((sentence) => ({
    text: sentence,
    sources,
  }))
}

/**
 * Lists the blocks that state facts and therefore need a source. Omits headings, lines that introduce a list, the notice of a
 * withdrawn section, and the last two sections, which only list links and reasons to talk to an attorney.
 */
export function listFactBlocks(body: string): readonly Block[] {
  const blocks = parseBlocks(body)
  const introducesList = ({ text }: Block, index: number) =>
    removeMarkers(text).endsWith(':') && blocks[index + 1]?.kind === 'item'
  return blocks.filter(
    (block, index) =>
      block.kind !== 'heading' &&
      block.section !== CHANGES_HEADING &&
      block.section !== ATTORNEY_HEADING &&
      block.text !== WITHDRAWN_NOTICE &&
      !introducesList(block, index),
  )
}

export const findSourceIds = (text: string): readonly string[] =>
  [...text.matchAll(SOURCE_MARKER)].flatMap(([, id]) => id ?? [])

const removeMarkers = (text: string) => text.replace(SOURCE_MARKER, '').trim()

const EXTERNAL_LINK = /\]\((?<address>https:\/\/[^()\s]+)\)/g
const PHONE_NUMBER = /(?<![\d-])(?:1-)?\d{3}-\d{3}-\d{4}(?![\d-])/g

/** Finds links to other sites, and phone numbers. */
const findContacts = (text: string): readonly string[] => [
  ...[...text.matchAll(EXTERNAL_LINK)].flatMap(({ groups }) => groups?.['address'] ?? []),
  ...[...text.replace(EXTERNAL_LINK, '').matchAll(PHONE_NUMBER)].map(([number]) => number),
]

/** Returns whether a block has a link or phone number and cites no source. */
export const isUnchecked = ({ text }: Block): boolean =>
  findSourceIds(text).length === 0 && findContacts(text).length > 0

/** Lists the distinct links and phone numbers in blocks that cite no source. */
export const findUncheckedContacts = (body: string): readonly string[] => [
  ...new Set(
    parseBlocks(body)
      .filter(isUnchecked)
      .flatMap(({ text }) => findContacts(text)),
  ),
]
