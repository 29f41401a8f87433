import { defineRoute, Problem, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { type Html, linkDonePage, linkPage } from '@plainpath/pages'
import { sha256 } from '@plainpath/sealing'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import { LinkSecret } from '../link-secret.ts'
import { answerForm, PAGE } from './page.ts'

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
  /** @returns false when the link was used before, has expired or is unknown @throws {Problem} that says why it cannot be used now */
  act(secretHash: Buffer): Promise<boolean>
}

const Link = z.object({ link: LinkSecret.catch('') })

/** Creates the routes of a page that a mailed link opens, and of its button. Opening changes nothing, since mail scanners open links too. */
export function linkPageRoutes(spec: LinkPageSpec, urls: ServiceUrls): Route[] {
  const answer = (title: string, body: Html) =>
    answerForm(urls, 200, { path: spec.path, title, body, noindex: true })
  const page = defineRoute({
    ...PAGE,
    path: spec.path,
    operationId: spec.operationId,
    summary: spec.ask.title,
    request: { query: Link },
    handle({ query: { link } }) {
      if (link === '') throw deadLink()
      return answer(spec.ask.title, linkPage({ ...spec.ask, action: spec.path, link }))
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
    async handle({ body: { link } }) {
      if (link === '' || !(await spec.act(sha256(link)))) throw deadLink()
      return answer(spec.done.title, linkDonePage(spec.done))
    },
  })
  return [page, act]
}

const deadLink = () =>
  new Problem('not-found', {
    detail:
      'This link does not work: it was used before, it has expired, or a part of it is missing. If you have not used it yet, copy the whole link from the mail.',
  })
