import { Guide } from '@plainpath/domain'
import { type DatedGuide, noteFreshness, numberSources, toDatedGuide } from '@plainpath/guides'
import { type PreparedResponse, Problem, prepareOnce, prepareResponse } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { formatStaleNotice } from '@plainpath/pages'
import type { Database } from '@plainpath/postgres'
import { withdrawFromEarlierVersion } from './answer-switches.ts'
import { FRESHNESS_NOTES } from './freshness-notes.ts'
import type { GuideCatalog } from './guide-catalog.ts'
import { readGuideVersion } from './read-published-guides.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'

/** Converts a guide to the API's document. The body refers to the n-th source as `[n]`, and its links are absolute. */
export function toGuideDocument(guide: DatedGuide, urls: ServiceUrls): Guide {
  const { body, sources } = numberSources(guide.body, guide.sources)
  return {
    ...guide,
    url: urls.guide(guide.slug),
    body: makeLinksAbsolute(body, urls),
    sources: sources.map((source) => ({ ...source, copyFrom: source.checked })),
    talkToAnAttorneyWhen: [...guide.talkToAnAttorneyWhen],
    history: [...guide.history],
  }
}

/** Formats a guide as one Markdown text. The guide's body ends with the section about attorneys and the disclaimer. */
export function formatGuideAsMarkdown(guide: DatedGuide, urls: ServiceUrls): string {
  const { body, sources } = numberSources(noteFreshness(guide, FRESHNESS_NOTES), guide.sources)
  const reviewNote =
    guide.reviewed === null ? 'Not yet reviewed by an attorney.' : `Reviewed on ${guide.reviewed}.`
  const staleNotice = guide.stale ? ` ${formatStaleNotice(guide)}` : ''
  const history = guide.history.map(({ date, version, text }) => `- ${date}, version ${version}. ${text}`)
  const sourceLines = sources.map(
    ({ title, url, agency, checked, stale: isStale }, index) =>
      `${index + 1}. [${title}](${url}). ${agency}. Read in a copy from ${checked}${isStale ? ', which is too old' : ''}.`,
  )
  return `# ${guide.title}

${guide.summary}

${reviewNote} Updated ${guide.updated}.${staleNotice}

${makeLinksAbsolute(body, urls)}

${history.length > 0 ? `## Changes to this guide\n\n${history.join('\n')}\n\n` : ''}## Sources

${sourceLines.join('\n')}
`
}

const makeLinksAbsolute = (markdown: string, { origin }: ServiceUrls) =>
  markdown.replaceAll('](/', `](${origin}/`)

/** Prepares guides as responses, once for each `DatedGuide` object. */
export interface GuideResponses {
  prepareJson(guide: DatedGuide): PreparedResponse
  prepareMarkdown(guide: DatedGuide): PreparedResponse
  /**
   * Finds the function that prepares the accepted format, if `Accept` is empty, accepts any type, or names exactly one of
   * our types.
   *
   * @returns undefined if the format has to be negotiated
   */
  findFormatWithoutNegotiation(accept: string): ((guide: DatedGuide) => PreparedResponse) | undefined
  /**
   * Negotiates the format.
   *
   * @param accepts picks the media type that suits the request best
   * @throws {Problem} 406 if the request accepts none of our types
   */
  negotiate(guide: DatedGuide, accepts: (...types: string[]) => string | undefined): PreparedResponse
}

export function createGuideResponses(urls: ServiceUrls): GuideResponses {
  const prepareJson = prepareOnce<DatedGuide>((guide) =>
    prepareResponse(JSON_TYPE, JSON.stringify(Guide.parse(toGuideDocument(guide, urls)))),
  )
  const prepareMarkdown = prepareOnce<DatedGuide>((guide) =>
    prepareResponse(MARKDOWN_TYPE, formatGuideAsMarkdown(guide, urls)),
  )
  const preparersByType: Readonly<Record<string, (guide: DatedGuide) => PreparedResponse>> = {
    'application/json': prepareJson,
    'text/markdown': prepareMarkdown,
  }
  const types = Object.keys(preparersByType)
  return {
    prepareJson,
    prepareMarkdown,
    findFormatWithoutNegotiation(accept) {
      if (accept === '' || accept === '*/*') return prepareJson
      return Object.hasOwn(preparersByType, accept) ? preparersByType[accept] : undefined
    },
    negotiate(guide, accepts) {
      const prepare = preparersByType[accepts(...types) ?? '']
      if (!prepare) throw new Problem('not-acceptable', { detail: `A guide comes as ${types.join(' or ')}.` })
      return prepare(guide)
    },
  }
}

/** The URLs and the text in problems about guides: pages link to pages, and API responses link to the API. */
interface GuideProblemOptions {
  readonly urls: ServiceUrls
  /** Returns the URL of a guide's page or JSON. */
  readonly guideUrl: (slug: string) => string
  /** The problem detail for an unknown slug. */
  readonly unknownGuideDetail: string
}

/**
 * Finds the guide that is published under a slug.
 *
 * @throws {Problem} 410 for a retired guide, with its successor; 404 for an unknown slug
 */
export function requirePublishedGuide(
  catalog: GuideCatalog,
  slug: string,
  { urls, guideUrl, unknownGuideDetail }: GuideProblemOptions,
): DatedGuide {
  const successor = catalog.findSuccessor(slug)
  if (successor !== undefined) {
    const url = guideUrl(successor)
    throw new Problem('guide-retired', {
      detail: `This guide was retired. Read ${url} instead.`,
      headers: { link: `<${url}>; rel="successor-version"` },
      extensions: { successor: { slug: successor, url: urls.guide(successor) } },
    })
  }
  const guide = catalog.find(slug)
  if (!guide) throw new Problem('not-found', { detail: unknownGuideDetail })
  return guide
}

/** Reads an earlier version of a guide from the store. */
export type ReadEarlierGuide = (slug: string, version: number) => Promise<DatedGuide | undefined>

/**
 * Finds the requested version of a guide; by default the published version.
 *
 * @throws {Problem} 410 for a retired guide, 404 for an unknown guide or version. Also rethrows store errors
 */
export async function requireGuideVersion(
  source: { guides: { current(): GuideCatalog }; readEarlierGuide: ReadEarlierGuide },
  { slug, version }: { slug: string; version?: number | null | undefined },
  problemOptions: GuideProblemOptions,
): Promise<DatedGuide> {
  const published = requirePublishedGuide(source.guides.current(), slug, problemOptions)
  const requestedVersion = version ?? published.version
  const guide =
    requestedVersion === published.version ? published : await source.readEarlierGuide(slug, requestedVersion)
  if (guide) return guide
  const detail = `This guide has no version ${requestedVersion}. Its newest is ${published.version}.`
  throw new Problem('not-found', { detail })
}

/**
 * Creates the function that reads earlier versions. They are not cached, because they are rarely requested. While the database is
 * unavailable, a request for an earlier version gets 503. A withdrawn section is withdrawn from all versions. From a version
 * without a section of that id, every section is withdrawn.
 */
export function createEarlierGuideReader(
  db: Database,
  now: () => Date,
  guides: { current(): GuideCatalog },
): ReadEarlierGuide {
  return async (slug, version) => {
    const guide = await readGuideVersion(db, slug, version)
    const withdrawnSections = guides.current().switches?.withdrawnSections ?? []
    return guide && toDatedGuide(withdrawFromEarlierVersion(guide, withdrawnSections), now())
  }
}
