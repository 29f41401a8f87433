import { bodyBlocks } from '../body-blocks.ts'
import { SOURCE_MARKER } from '../numbered-sources.ts'
import { isOfficial } from '../official-hosts.ts'
import type { GuideCheck } from './guide-check.ts'

const LINK = /\[(?<text>[^[\]]+)\]\((?<target>[^()\s]+)\)/g
const INTERNAL = /^\/guides\/(?<slug>[a-z0-9-]+)$/

export const linksOf = (markdown: string): string[] =>
  [...markdown.matchAll(LINK)].flatMap(({ groups }) => groups?.['target'] ?? [])

const linksIn = (markdown: string, kind: 'internal' | 'external') =>
  linksOf(markdown).filter((target) => target.startsWith('/') === (kind === 'internal'))

/** Brackets, parentheses and addresses that are left once links and markers are taken out belong to a broken link. */
export const malformedLinks: GuideCheck = ({ body }) =>
  bodyBlocks(body)
    .filter(({ text }) => /[[\]]|:\/\/|www\./.test(text.replace(LINK, '').replace(SOURCE_MARKER, '')))
    .map(({ text }) => text)

export const linksToUnofficialHosts: GuideCheck = ({ body }) =>
  linksIn(body, 'external').filter((target) => !isOfficial(target))

/** The only pages of our own that a guide may link are published guides. */
export const linksToUnknownGuides: GuideCheck = ({ body }, { guides }) =>
  linksIn(body, 'internal').filter((target) => {
    const slug = INTERNAL.exec(target)?.groups?.['slug']
    return !guides.some((guide) => guide.slug === slug && guide.status === 'published')
  })
