import { Guide } from '@plainpath/domain'
import { type DatedGuide, guideAsOf, noteFreshness, withNumberedSources } from '@plainpath/guides'
import { type PreparedResponse, Problem, prepareOnce, prepareResponse } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { staleNotice } from '@plainpath/pages'
import type { Database } from '@plainpath/postgres'
import { withdrawSections } from './answer-switches.ts'
import { FRESHNESS_NOTES } from './freshness-notes.ts'
import type { GuideCatalog } from './guide-catalog.ts'
import { readGuideVersion } from './read-published-guides.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'

/** Converts a guide to the document of the API. Its body refers to the n-th source as `[n]`, and its links are absolute. */
export function guideDocument(guide: DatedGuide, urls: ServiceUrls): Guide {
  const { body, sources } = withNumberedSources(guide.body, guide.sources)
  return {
    ...guide,
    url: urls.guide(guide.slug),
    body: withAbsoluteLinks(body, urls),
    sources: sources.map((source) => ({ ...source, copyFrom: source.checked })),
    talkToAnAttorneyWhen: [...guide.talkToAnAttorneyWhen],
    history: [...guide.history],
  }
}

/** Formats a guide as one Markdown text. Its body ends with when to talk to an attorney, and with the disclaimer. */
export function guideMarkdown(guide: DatedGuide, urls: ServiceUrls): string {
  const { body, sources } = withNumberedSources(noteFreshness(guide, FRESHNESS_NOTES), guide.sources)
  const reviewed =
    guide.reviewed === null ? 'Not yet reviewed by an attorney.' : `Reviewed on ${guide.reviewed}.`
  const stale = guide.stale ? ` ${staleNotice(guide)}` : ''
  const history = guide.history.map(({ date, version, text }) => `- ${date}, version ${version}. ${text}`)
  const listed = sources.map(
    ({ title, url, agency, checked, stale: tooLongAgo }, index) =>
      `${index + 1}. [${title}](${url}). ${agency}. Read in a copy from ${checked}${tooLongAgo ? ', which is too old' : ''}.`,
  )
  return `# ${guide.title}

${guide.summary}

${reviewed} Updated ${guide.updated}.${stale}

${withAbsoluteLinks(body, urls)}

${history.length > 0 ? `## Changes to this guide\n\n${history.join('\n')}\n\n` : ''}## Sources

${listed.join('\n')}
`
}

const withAbsoluteLinks = (markdown: string, { origin }: ServiceUrls) =>
  markdown.replaceAll('](/', `](${origin}/`)

/** Creates the functions that prepare a guide as a response, once for each version of each guide. */
export function guideResponses(urls: ServiceUrls) {
  const asJson = prepareOnce<DatedGuide>((guide) =>
    prepareResponse(JSON_TYPE, JSON.stringify(Guide.parse(guideDocument(guide, urls)))),
  )
  const asMarkdown = prepareOnce<DatedGuide>((guide) =>
    prepareResponse(MARKDOWN_TYPE, guideMarkdown(guide, urls)),
  )
  const byType: Readonly<Record<string, (guide: DatedGuide) => PreparedResponse>> = {
    'application/json': asJson,
    'text/markdown': asMarkdown,
  }
  const types = Object.keys(byType)
  return {
    asJson,
    asMarkdown,
    /** Chooses a form for an `Accept` that is empty, any type or one of ours; undefined if it has to be negotiated. */
    chooseWithoutNegotiation(accept: string): ((guide: DatedGuide) => PreparedResponse) | undefined {
      if (accept === '' || accept === '*/*') return asJson
      return Object.hasOwn(byType, accept) ? byType[accept] : undefined
    },
    /** Negotiates the form. @param accepts picks the best of some media types for the request @throws {Problem} 406 if it accepts neither */
    negotiate(guide: DatedGuide, accepts: (...types: string[]) => string | undefined): PreparedResponse {
      const form = byType[accepts(...types) ?? '']
      if (!form) throw new Problem('not-acceptable', { detail: `A guide comes as ${types.join(' or ')}.` })
      return form(guide)
    },
  }
}

export type GuideResponses = ReturnType<typeof guideResponses>

/** How a response refers to guides: a page links pages, the API links the API. */
interface GuideAudience {
  readonly urls: ServiceUrls
  /** Returns the URL of a guide: its page, or its JSON. */
  readonly address: (slug: string) => string
  /** The detail of the problem for an unknown slug. */
  readonly unknown: string
}

/**
 * Finds the guide that is published under a slug.
 *
 * @throws {Problem} 410 for a retired guide, with its successor; 404 for an unknown slug
 */
export function publishedGuide(
  catalog: GuideCatalog,
  slug: string,
  { urls, address, unknown }: GuideAudience,
): DatedGuide {
  const successor = catalog.findSuccessor(slug)
  if (successor !== undefined) {
    const url = address(successor)
    throw new Problem('guide-retired', {
      detail: `This guide was retired. Read ${url} instead.`,
      headers: { link: `<${url}>; rel="successor-version"` },
      extensions: { successor: { slug: successor, url: urls.guide(successor) } },
    })
  }
  const guide = catalog.find(slug)
  if (!guide) throw new Problem('not-found', { detail: unknown })
  return guide
}

/** Reads an earlier version of a guide from the store. */
export type EarlierGuide = (slug: string, version: number) => Promise<DatedGuide | undefined>

/**
 * Finds the requested version of a guide; the published version if none is requested.
 *
 * @throws {Problem} 410 for a retired guide, 404 for an unknown guide or version; and errors of the store
 */
export async function guideVersion(
  from: { guides: { current(): GuideCatalog }; earlier: EarlierGuide },
  { slug, version }: { slug: string; version?: number | null | undefined },
  place: GuideAudience,
): Promise<DatedGuide> {
  const served = publishedGuide(from.guides.current(), slug, place)
  const requested = version ?? served.version
  const guide = requested === served.version ? served : await from.earlier(slug, requested)
  if (guide) return guide
  const detail = `This guide has no version ${requested}. Its newest is ${served.version}.`
  throw new Problem('not-found', { detail })
}

/**
 * Creates the function that reads earlier versions. They are requested seldom, so they are not kept in memory: without the
 * database the response is 503. A withdrawn section is withdrawn from all versions.
 */
export function earlierGuides(db: Database, now: () => Date, guides: { current(): GuideCatalog }) {
  return async (slug: string, version: number): Promise<DatedGuide | undefined> => {
    const guide = await readGuideVersion(db, slug, version)
    const withdrawn = guides.current().switches?.withdrawnSections ?? []
    return guide && guideAsOf(withdrawSections(guide, withdrawn), now())
  }
}
