import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { type Html, linkDonePage, linkPage } from '@plainpath/pages'
import { sha256 } from '@plainpath/sealing'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import { LinkSecret } from '../link-secret.ts'
import { answerForm, PAGE } from './page.ts'

/** The page behind a link that changes nothing any more. */
export interface ClosedLink {
  /** 404 for a link that is not known. */
  readonly status: 404 | 410
  readonly title: string
  readonly text: string
}

export const DEAD_LINK: ClosedLink = {
  status: 404,
  title: 'This link does not work',
  text: 'It was used before, it has expired, or a part of it is missing. If you have not used it yet, copy the whole link from the e-mail.',
}

interface LinkPageSpec {
  readonly path: `/${string}`
  /** The id of the first route; that of the second ends in `ByForm`. */
  readonly operationId: string
  readonly ask: {
    readonly title: string
    readonly text: string
    readonly button: string
    readonly otherwise?: string
  }
  readonly done: { readonly title: string; readonly text: string; readonly more?: Html }
  /** Finds what is said instead of asking, where the link no longer changes anything. Absent where nothing is looked up. */
  closed?(secretHash: Buffer): Promise<ClosedLink | undefined>
  /** @returns false when the link was used before, has expired or is unknown @throws {Problem} that says why it cannot be used now */
  act(secretHash: Buffer): Promise<boolean>
}

const Link = z.object({ link: LinkSecret.catch('') })

/** Creates the routes of a page that a mailed link opens, and of its button. Opening changes nothing, since mail scanners open links too. */
export function linkPageRoutes(spec: LinkPageSpec, urls: ServiceUrls): Route[] {
  const answer = <Status extends number>(status: Status, title: string, body: Html) =>
    answerForm(urls, status, { path: spec.path, title, body, noindex: true })
  const answerClosed = ({ status, ...said }: ClosedLink) =>
    status === 404 ? answer(404, said.title, linkDonePage(said)) : answer(410, said.title, linkDonePage(said))
  const responses = { 200: z.string(), 404: z.string(), 410: z.string() }
  const page = defineRoute({
    ...PAGE,
    path: spec.path,
    operationId: spec.operationId,
    summary: spec.ask.title,
    request: { query: Link },
    responses,
    async handle({ query: { link } }) {
      const closed = link === '' ? DEAD_LINK : await spec.closed?.(sha256(link))
      if (closed) return answerClosed(closed)
      return answer(200, spec.ask.title, linkPage({ ...spec.ask, action: spec.path, link }))
    },
  })
  const act = defineRoute({
    ...PAGE,
    method: 'post',
    path: spec.path,
    operationId: `${spec.operationId}ByForm`,
    summary: spec.ask.button,
    limits: LIMITS.links,
    form: true,
    request: { body: Link },
    responses,
    async handle({ body: { link } }) {
      const closed = link === '' ? DEAD_LINK : await spec.closed?.(sha256(link))
      if (closed) return answerClosed(closed)
      if (!(await spec.act(sha256(link)))) return answerClosed(DEAD_LINK)
      return answer(200, spec.done.title, linkDonePage(spec.done))
    },
  })
  return [page, act]
}
