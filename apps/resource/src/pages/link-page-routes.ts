import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { type Html, renderLinkDonePage, renderLinkPage } from '@plainpath/pages'
import { sha256 } from '@plainpath/sealing'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import { LinkSecret } from '../link-secret.ts'
import { createFormResponse, PAGE } from './page.ts'

/** The page of a link that no longer works. */
export interface ClosedLink {
  /** 404 for an unknown, used or expired link, which cannot be found. 410 for a known link that can no longer be used. */
  readonly status: 404 | 410
  readonly title: string
  readonly text: string
}

export const UNKNOWN_LINK: ClosedLink = {
  status: 404,
  title: 'This link does not work',
  text: 'It was used before, it has expired, or a part of it is missing. If you have not used it yet, copy the whole link from the e-mail.',
}

interface LinkPageSpec {
  readonly path: `/${string}`
  /** The operation ID of the page. The operation ID of its button has the suffix `ByForm`. */
  readonly operationId: string
  /** The page with the button. */
  readonly question: {
    readonly title: string
    readonly text: string
    readonly button: string
    /** What happens if the person does not press the button. */
    readonly otherwise?: string
  }
  /** The page after the button was pressed. */
  readonly success: { readonly title: string; readonly text: string; readonly more?: Html }
  /** Finds the page to show if the link no longer works. Without this function, the person learns that only by pressing the button. */
  findClosedLink?(secretHash: Buffer): Promise<ClosedLink | undefined>
  /**
   * The page if the action fails and `findClosedLink` finds no page. After a double click, the browser shows only the second response,
   * so this page must not say that the first press failed. By default, it is `UNKNOWN_LINK`.
   */
  readonly usedLink?: ClosedLink
  /**
   * Performs the action of the button.
   *
   * @returns false if the page of `findClosedLink` is to be shown instead of `success`; without such a page, `usedLink`
   * @throws {Problem} with the reason why the link cannot be used now
   */
  act(secretHash: Buffer): Promise<boolean>
}

/** The secret of the link. Any other text becomes empty, and the person then sees `UNKNOWN_LINK` and not an error. */
const LinkInput = z.object({ link: LinkSecret.catch('') })

/**
 * Creates the routes for a page that a mailed link opens, and for the button on it. Opening the page changes nothing, because mail
 * scanners also open links.
 */
export function createLinkPageRoutes(spec: LinkPageSpec, urls: ServiceUrls): Route[] {
  const respond = <Status extends number>(status: Status, title: string, body: Html) =>
    createFormResponse(urls, status, { path: spec.path, title, body, noindex: true })
  // The comparison narrows `status` to a literal type, which the routes' response types require.
  const respondClosed = ({ status, ...content }: ClosedLink) =>
    status === 404
      ? respond(404, content.title, renderLinkDonePage(content))
      : respond(410, content.title, renderLinkDonePage(content))
  const findClosedLink = async (link: string) =>
    link === '' ? UNKNOWN_LINK : spec.findClosedLink?.(sha256(link))
  const responses = { 200: z.string(), 404: z.string(), 410: z.string() }
  const pageRoute = defineRoute({
    ...PAGE,
    path: spec.path,
    operationId: spec.operationId,
    summary: spec.question.title,
    request: { query: LinkInput },
    responses,
    async handle({ query: { link } }) {
      const closedLink = await findClosedLink(link)
      if (closedLink) return respondClosed(closedLink)
      return respond(
        200,
        spec.question.title,
        renderLinkPage({ ...spec.question, action: spec.path, secret: link }),
      )
    },
  })
  const actionRoute = defineRoute({
    ...PAGE,
    method: 'post',
    path: spec.path,
    operationId: `${spec.operationId}ByForm`,
    summary: spec.question.button,
    limits: LIMITS.links,
    form: true,
    request: { body: LinkInput },
    responses,
    async handle({ body: { link } }) {
      const closedLink = await findClosedLink(link)
      if (closedLink) return respondClosed(closedLink)
      if (!(await spec.act(sha256(link))))
        return respondClosed((await findClosedLink(link)) ?? spec.usedLink ?? UNKNOWN_LINK)
      return respond(200, spec.success.title, renderLinkDonePage(spec.success))
    },
  })
  return [pageRoute, actionRoute]
}
