import { Guide } from '@plainpath/domain'
import { type DatedGuide, guideAsOf, noteFreshness, withNumberedSources } from '@plainpath/guides'
import { type PreparedResponse, Problem, prepareOnce, prepareResponse } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { staleNotice } from '@plainpath/pages'
import type { Database } from '@plainpath/postgres'
import { withoutSections } from './answer-switches.ts'
import { FRESHNESS_NOTES } from './freshness-notes.ts'
import type { GuideCatalog } from './guide-catalog.ts'
import { readGuideVersion } from './read-published-guides.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'

/** The guide as the API gives it: its body points at the n-th source as `[n]`, and its links are absolute. */
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

/** The same as one Markdown text. The body closes with when to talk to an attorney and with the disclaimer. */
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

/** Prepares guides as responses, once for each version of each guide. */
export function guideForms(urls: ServiceUrls) {
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
    /** Chooses by an `Accept` that names one of the types or any; undefined where it has to be weighed. */
    plainlyAccepted(accept: string): ((guide: DatedGuide) => PreparedResponse) | undefined {
      if (accept === '' || accept === '*/*') return asJson
      return Object.hasOwn(byType, accept) ? byType[accept] : undefined
    },
    /** @param accepts which of the media types a request asks for; @throws {Problem} 406 when it is neither */
    accepted(guide: DatedGuide, accepts: (...types: string[]) => string | undefined): PreparedResponse {
      const form = byType[accepts(...types) ?? '']
      if (!form) throw new Problem('not-acceptable', { detail: `A guide comes as ${types.join(' or ')}.` })
      return form(guide)
    },
  }
}

export type GuideForms = ReturnType<typeof guideForms>

/** How an answer names guides to those who read it. */
interface GuidePlace {
  readonly urls: ServiceUrls
  /** What a reader is sent to: the page of a guide, or its place in the API. */
  readonly address: (slug: string) => string
  /** Said of a slug that no guide has. */
  readonly unknown: string
}

/**
 * The guide that is published under a slug.
 *
 * @throws {Problem} 410 for a retired one, with its successor; 404 for an unknown one
 */
export function publishedGuide(
  catalog: GuideCatalog,
  slug: string,
  { urls, address, unknown }: GuidePlace,
): DatedGuide {
  const successor = catalog.successorOf(slug)
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

/** An earlier version of a guide, from the store. */
export type EarlierGuide = (slug: string, version: number) => Promise<DatedGuide | undefined>

/**
 * The version of a guide that somebody asks for; the published one unless they name it.
 *
 * @throws {Problem} 410 for a retired guide, 404 for an unknown guide or version; and what the store throws
 */
export async function guideVersion(
  from: { guides: { current(): GuideCatalog }; earlier: EarlierGuide },
  { slug, version }: { slug: string; version?: number | null | undefined },
  place: GuidePlace,
): Promise<DatedGuide> {
  const served = publishedGuide(from.guides.current(), slug, place)
  const wanted = version ?? served.version
  const guide = wanted === served.version ? served : await from.earlier(slug, wanted)
  if (guide) return guide
  const detail = `This guide has no version ${wanted}. Its newest is ${served.version}.`
  throw new Problem('not-found', { detail })
}

/**
 * Earlier versions are asked for seldom, so they are read when they are; without the database they are 503. A section that
 * is withdrawn is withdrawn from all versions.
 */
export function earlierGuides(db: Database, now: () => Date, guides: { current(): GuideCatalog }) {
  return async (slug: string, version: number): Promise<DatedGuide | undefined> => {
    const guide = await readGuideVersion(db, slug, version)
    const withdrawn = guides.current().switches?.withdrawnSections ?? []
    return guide && guideAsOf(withoutSections(guide, withdrawn), now())
  }
}
