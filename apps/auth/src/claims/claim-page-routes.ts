import { AgentId, type Result, verifiedDomain } from '@plainpath/domain'
import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import {
  type AgentOnPage,
  ALREADY_ENDED_TITLE,
  alreadyEndedPage,
  brokenEndLinkPage,
  claimCodePage,
  claimQuestionPage,
  closedClaimPage,
  closedClaimTitle,
  endClaimPage,
  endedClaimPage,
  type Html,
  type LentAccess,
  lentAccessPage,
  renderPage,
} from '@plainpath/pages'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import type { Stores } from '../stores.ts'
import {
  askAboutClaim,
  type ClaimLinkDeps,
  type ClaimQuestion,
  declineClaim,
  type EndRefusal,
  endLinkedClaims,
  findLinkedClaims,
  type LinkRefusal,
  showCode,
} from './claim-link.ts'
import type { LinkedClaim } from './postgres-claims.ts'

export interface ClaimPageDeps extends ClaimLinkDeps {
  readonly stores: Pick<Stores, 'cachedAgents' | 'claimAttempts' | 'claims'>
  readonly urls: Pick<ServiceUrls, 'origin'>
}

/** Takes the first of repeated parameters; ignores text that cannot be a link secret. */
const secret = z
  .union([z.string(), z.array(z.string()).transform(([first = '']) => first)])
  .optional()
  .transform((text) => (text !== undefined && /^[A-Za-z0-9_-]{43}$/.test(text) ? text : undefined))
const answer = z.enum(['yes', 'no']).optional().catch(undefined)
const LinkQuery = z.object({ attempt: secret, end: secret })
const LinkForm = LinkQuery.extend({ answer, all: z.literal('yes').optional().catch(undefined) })

const PAGE = { type: 'text/html; charset=utf-8', headers: { 'referrer-policy': 'no-referrer' } } as const
type Status = 200 | 404 | 410

/**
 * Creates the routes of `/claim`, the page behind the links in mails: `?attempt=` to confirm or decline an agent, `?end=`
 * to list what a person has given access to, and to revoke it. Only a POST, which a button sends, changes anything.
 */
export function claimPageRoutes(deps: ClaimPageDeps): Route[] {
  const common = {
    path: '/claim',
    access: 'open',
    limits: { address: LIMITS.pages },
    responses: { 200: z.string(), 404: z.string(), 410: z.string() },
  } as const
  const page = <S extends Status>(status: S, title: string, body: Html) => ({
    status,
    headers: PAGE.headers,
    text: {
      type: PAGE.type,
      content: renderPage({ origin: deps.urls.origin, path: '/claim', title, body, noindex: true }),
    },
  })
  const closed = (why: LinkRefusal) =>
    why === 'unknown'
      ? page(404, closedClaimTitle(why), closedClaimPage(why))
      : page(410, closedClaimTitle(why), closedClaimPage(why))
  const notEnded = (why: EndRefusal) =>
    why === 'unknown'
      ? page(404, closedClaimTitle(why), brokenEndLinkPage())
      : page(410, ALREADY_ENDED_TITLE, alreadyEndedPage())

  async function agentOnPage(id: string): Promise<AgentOnPage | undefined> {
    const agent = (await deps.stores.cachedAgents.find(AgentId.parse(id)))?.agent
    return (
      agent && {
        name: agent.name,
        verifiedDomain: verifiedDomain(agent.id),
        appHost: agent.appHost,
        registered: formatDay(agent.registeredAt),
      }
    )
  }

  async function lentAccess({ claim, endSecret }: LinkedClaim): Promise<LentAccess | undefined> {
    const agent = await agentOnPage(claim.agentId)
    if (!agent) return undefined
    const days = { since: formatDay(claim.verifiedAt), until: formatDay(claim.expiresAt) }
    return { secret: endSecret, agent, ...days }
  }

  /** Deleting an agent deletes its attempts too. */
  async function withQuestion<T extends ClaimQuestion>(
    found: Result<T, LinkRefusal>,
    titleOf: string,
    bodyOf: (question: T, agent: AgentOnPage) => Html,
  ) {
    if (!found.ok) return closed(found.error)
    const agent = await agentOnPage(found.value.agentId)
    return agent ? page(200, titleOf, bodyOf(found.value, agent)) : closed('unknown')
  }

  const look = defineRoute({
    ...common,
    method: 'get',
    operationId: 'claimPage',
    summary: 'What a mailed link asks; it changes nothing',
    request: { query: LinkQuery },
    async handle({ query: { attempt, end } }) {
      if (end !== undefined) {
        const found = await findLinkedClaims(deps, end)
        if (!found.ok) return notEnded(found.error)
        const lent = await Promise.all(found.value.map(lentAccess))
        const [first, ...others] = lent.filter((access) => access !== undefined)
        if (!first) return notEnded('already-ended')
        return others.length === 0
          ? page(200, 'End an access', endClaimPage({ ...first, secret: end }))
          : page(200, 'End an access', lentAccessPage({ secret: end, lent: [first, ...others] }))
      }
      if (attempt === undefined) return closed('unknown')
      return withQuestion(
        await askAboutClaim(deps, attempt),
        'Does this AI agent act for you?',
        (question, agent) => claimQuestionPage({ secret: attempt, agent, ...question }),
      )
    },
  })

  const press = defineRoute({
    ...common,
    method: 'post',
    operationId: 'answerClaim',
    summary: 'Takes a button of the page',
    form: 'unguessable',
    request: { body: LinkForm },
    async handle({ body: { attempt, end, answer: given, all } }) {
      if (end !== undefined) {
        const ended = await endLinkedClaims(deps, end, { all: all === 'yes' })
        return ended.ok
          ? page(200, 'The access has ended', endedClaimPage({ all: all === 'yes', left: ended.value.left }))
          : notEnded(ended.error)
      }
      if (attempt === undefined || given === undefined) return closed('unknown')
      if (given === 'no') {
        const declined = await declineClaim(deps, attempt)
        return declined.ok
          ? page(200, closedClaimTitle('declined'), closedClaimPage('declined'))
          : closed(declined.error)
      }
      return withQuestion(await showCode(deps, attempt), 'Your code', (shown, agent) =>
        claimCodePage({ secret: attempt, agent, ...shown }),
      )
    },
  })

  return [look, press]
}

const formatDay = (date: Date) => date.toISOString().slice(0, 10)
