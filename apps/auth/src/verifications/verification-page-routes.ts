import { AgentId, getVerifiedDomain, type Result } from '@plainpath/domain'
import { defineRoute, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import {
  type AgentOnPage,
  ALREADY_ENDED_TITLE,
  type GrantedAccess,
  getClosedVerificationTitle,
  type Html,
  renderAlreadyRevokedPage,
  renderBrokenRevokeLinkPage,
  renderClosedVerificationPage,
  renderGrantedAccessPage,
  renderPage,
  renderRevokeAccessPage,
  renderRevokedAccessPage,
  renderVerificationCodePage,
  renderVerificationQuestionPage,
} from '@plainpath/pages'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import type { Stores } from '../stores.ts'
import {
  type ConfirmationPage,
  declineVerification,
  findLinkedVerifications,
  type LinkRefusal,
  type RevocationRefusal,
  readConfirmationPage,
  revokeLinkedVerifications,
  showCode,
  type VerificationLinkDeps,
} from './verification-link.ts'
import type { LinkedVerification } from './verification-store.ts'

export interface VerificationPageDeps extends VerificationLinkDeps {
  readonly stores: Pick<Stores, 'agentCache' | 'verificationAttempts' | 'verifications'>
  readonly urls: Pick<ServiceUrls, 'origin'>
}

/**
 * Parses a link secret: 43 base64url characters, which encode 256 bits. Uses the first of repeated parameters, and ignores text
 * that cannot be a secret.
 */
const LinkSecret = z
  .union([z.string(), z.array(z.string()).transform(([firstValue = '']) => firstValue)])
  .optional()
  .transform((text) => (text !== undefined && /^[A-Za-z0-9_-]{43}$/.test(text) ? text : undefined))
const FormAnswer = z.enum(['yes', 'no']).optional().catch(undefined)
const LinkQuery = z.object({ attempt: LinkSecret, end: LinkSecret })
const LinkForm = LinkQuery.extend({ answer: FormAnswer, all: z.literal('yes').optional().catch(undefined) })

/** The URLs of these pages contain a secret, which the browser must not send in a referrer. */
const PAGE = { type: 'text/html; charset=utf-8', headers: { 'referrer-policy': 'no-referrer' } } as const
type Status = 200 | 404 | 410

/**
 * Creates the routes of `/claim`, the page behind the links in mails. With `?attempt=`, a person confirms or declines an agent.
 * With `?end=`, they see which agents and apps have access, and can revoke it. Only a POST, which a button sends, changes
 * anything.
 */
export function createVerificationPageRoutes(deps: VerificationPageDeps): Route[] {
  const common = {
    path: '/claim',
    access: 'open',
    limits: { address: LIMITS.pages },
    responses: { 200: z.string(), 404: z.string(), 410: z.string() },
  } as const
  const renderStatusPage = <S extends Status>(status: S, title: string, body: Html) => ({
    status,
    headers: PAGE.headers,
    text: {
      type: PAGE.type,
      content: renderPage({ origin: deps.urls.origin, path: '/claim', title, body, noindex: true }),
    },
  })
  /** Renders the page for a link that can show no code. With `secretToDecline`, the person can still decline on it. */
  const renderClosedPage = (reason: LinkRefusal['reason'], secretToDecline?: string) => {
    const body = renderClosedVerificationPage(reason, { secretToDecline })
    return reason === 'unknown'
      ? renderStatusPage(404, getClosedVerificationTitle(reason), body)
      : renderStatusPage(410, getClosedVerificationTitle(reason), body)
  }
  const renderNotRevokedPage = (reason: RevocationRefusal) =>
    reason === 'unknown'
      ? renderStatusPage(404, getClosedVerificationTitle(reason), renderBrokenRevokeLinkPage())
      : renderStatusPage(410, ALREADY_ENDED_TITLE, renderAlreadyRevokedPage())

  async function describeAgentOnPage(id: string): Promise<AgentOnPage | undefined> {
    const agent = (await deps.stores.agentCache.find(AgentId.parse(id)))?.agent
    return (
      agent && {
        name: agent.name,
        verifiedDomain: getVerifiedDomain(agent.id),
        appHost: agent.appHost,
        registered: formatDay(agent.registeredAt),
      }
    )
  }

  async function describeAccess({
    verification,
    revocationSecret,
  }: LinkedVerification): Promise<GrantedAccess | undefined> {
    const agent = await describeAgentOnPage(verification.agentId)
    if (!agent) return undefined
    const days = { since: formatDay(verification.verifiedAt), until: formatDay(verification.expiresAt) }
    return { secret: revocationSecret, agent, ...days }
  }

  /** Renders a page for an open attempt. If the agent was deleted meanwhile, the attempt was superseded. */
  async function renderConfirmationPage<T extends ConfirmationPage>(
    secret: string,
    page: Result<T, LinkRefusal>,
    title: string,
    renderBody: (page: T, agent: AgentOnPage) => Html,
  ) {
    if (!page.ok) return renderClosedPage(page.error.reason, page.error.canDecline ? secret : undefined)
    const agent = await describeAgentOnPage(page.value.agentId)
    return agent
      ? renderStatusPage(200, title, renderBody(page.value, agent))
      : renderClosedPage('superseded', secret)
  }

  const pageRoute = defineRoute({
    ...common,
    method: 'get',
    operationId: 'claimPage',
    summary: 'What a mailed link asks; it changes nothing',
    request: { query: LinkQuery },
    async handle({ query: { attempt, end } }) {
      if (end !== undefined) {
        const linkedVerifications = await findLinkedVerifications(deps, end)
        if (!linkedVerifications.ok)
          return linkedVerifications.error === 'just-ended'
            ? renderStatusPage(410, ALREADY_ENDED_TITLE, renderAlreadyRevokedPage({ secretToRepeat: end }))
            : renderNotRevokedPage(linkedVerifications.error)
        const accesses = await Promise.all(linkedVerifications.value.map(describeAccess))
        const [linkedAccess, ...others] = accesses.filter((access) => access !== undefined)
        if (!linkedAccess) return renderNotRevokedPage('already-ended')
        return others.length === 0
          ? renderStatusPage(200, 'End an access', renderRevokeAccessPage({ ...linkedAccess, secret: end }))
          : renderStatusPage(
              200,
              'End an access',
              renderGrantedAccessPage({ secret: end, accesses: [linkedAccess, ...others] }),
            )
      }
      if (attempt === undefined) return renderClosedPage('unknown')
      return renderConfirmationPage(
        attempt,
        await readConfirmationPage(deps, attempt),
        'Does this AI agent act for you?',
        (page, agent) => renderVerificationQuestionPage({ secret: attempt, agent, ...page }),
      )
    },
  })

  const formRoute = defineRoute({
    ...common,
    method: 'post',
    operationId: 'answerClaim',
    summary: 'Takes a button of the page',
    form: 'unguessable',
    request: { body: LinkForm },
    async handle({ body: { attempt, end, answer, all } }) {
      if (end !== undefined) {
        const revocation = await revokeLinkedVerifications(deps, end, { all: all === 'yes' })
        return revocation.ok
          ? renderStatusPage(
              200,
              'The access has ended',
              renderRevokedAccessPage({
                hasEndedAll: all === 'yes',
                remainingSecret: revocation.value.remainingSecret,
              }),
            )
          : renderNotRevokedPage(revocation.error)
      }
      if (attempt === undefined || answer === undefined) return renderClosedPage('unknown')
      if (answer === 'no') {
        const declined = await declineVerification(deps, attempt)
        return declined.ok
          ? renderStatusPage(
              200,
              getClosedVerificationTitle('declined'),
              renderClosedVerificationPage('declined'),
            )
          : renderClosedPage(declined.error)
      }
      return renderConfirmationPage(
        attempt,
        await showCode(deps, attempt),
        'The code for your agent',
        (shownCode, agent) => renderVerificationCodePage({ secret: attempt, agent, ...shownCode }),
      )
    },
  })

  return [pageRoute, formRoute]
}

const formatDay = (date: Date) => date.toISOString().slice(0, 10)
