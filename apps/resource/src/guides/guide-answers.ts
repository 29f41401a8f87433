import { Guide } from '@plainpath/domain'
import type { DatedGuide } from '@plainpath/guides'
import { type PreparedAnswer, Problem, prepareAnswer, preparedOnce } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import type { GuideCatalog } from './guide-catalog.ts'
import { guideDocument, guideMarkdown } from './guide-document.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
const MARKDOWN_TYPE = 'text/markdown; charset=utf-8'

/** A guide as JSON, made once for each version of it. */
export const guideAsJson = preparedOnce<DatedGuide>((guide) =>
  prepareAnswer(JSON_TYPE, JSON.stringify(Guide.parse(guideDocument(guide)))),
)

/** The same as Markdown. */
export const guideAsMarkdown = preparedOnce<DatedGuide>((guide) =>
  prepareAnswer(MARKDOWN_TYPE, guideMarkdown(guideDocument(guide))),
)

const FORMS: Readonly<Record<string, (guide: DatedGuide) => PreparedAnswer>> = {
  'application/json': guideAsJson,
  'text/markdown': guideAsMarkdown,
}

/** @param accepts which of the media types a request asks for; @throws {Problem} 406 when it is neither */
export function guideInForm(
  guide: DatedGuide,
  accepts: (...types: string[]) => string | undefined,
): PreparedAnswer {
  const types = Object.keys(FORMS)
  const form = FORMS[accepts(...types) ?? '']
  if (!form) throw new Problem('not-acceptable', { detail: `A guide comes as ${types.join(' or ')}.` })
  return form(guide)
}

/** How an answer names guides to those who read it. */
export interface GuidePlace {
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
