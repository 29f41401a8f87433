import { type Block, bodyBlocks } from '../body-blocks.ts'
import { ATTORNEY_HEADING, CHANGES_HEADING } from '../fixed-wording.ts'
import { SOURCE_MARKER } from '../numbered-sources.ts'
import { isOfficial } from '../official-hosts.ts'
import type { GuideCheck } from './guide-check.ts'

const ENDS_IN_MARKERS = /(?:\[\^[a-z0-9-]+\])+$/

/** The last two sections state no facts: they hold links and the list of triggers. */
const statesFacts = ({ section }: Block) => section !== CHANGES_HEADING && section !== ATTORNEY_HEADING

/** Every paragraph and list item ends in a marker, but for a line that introduces a list. */
export const paragraphsWithoutSource: GuideCheck = ({ body }) => {
  const blocks = bodyBlocks(body)
  const introduces = (index: number) =>
    blocks[index]?.text.endsWith(':') && blocks[index + 1]?.kind === 'item'
  return blocks
    .filter((block, index) => block.kind !== 'heading' && statesFacts(block) && !introduces(index))
    .filter(({ text }) => !ENDS_IN_MARKERS.test(text))
    .map(({ text }) => text)
}

const markersOf = (body: string) => [...body.matchAll(SOURCE_MARKER)].map(([, id]) => id)

export const unknownSources: GuideCheck = ({ body, sources }) =>
  markersOf(body)
    .filter((id) => !sources.some((source) => source.id === id))
    .map((id) => `[^${id}]`)

export const unusedSources: GuideCheck = ({ body, sources }) => {
  const used = new Set(markersOf(body))
  return sources.map(({ id }) => id).filter((id) => !used.has(id))
}

export const unofficialSources: GuideCheck = ({ sources }) =>
  sources.map(({ url }) => url).filter((url) => !isOfficial(url))
