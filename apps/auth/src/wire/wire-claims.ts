import type { AgentId } from '@plainpath/domain'
import type { Log, Metrics, Problem, Route } from '@plainpath/http'
import { mailTransport, openMailer, scaledMailCaps } from '@plainpath/mail'
import type { ServiceUrls } from '@plainpath/metadata'
import type { CachedAgents } from '../agents/cached-agents.ts'
import { beginClaim } from '../claims/begin-claim.ts'
import { claimLink } from '../claims/claim-link.ts'
import { claimMailHandlers } from '../claims/claim-mails.ts'
import { claimPageRoutes } from '../claims/claim-page-routes.ts'
import { type AnswerAssertion, claimRoutes } from '../claims/claim-routes.ts'
import { completeClaim } from '../claims/complete-claim.ts'
import { endClaim } from '../claims/end-claim.ts'
import { sweepClaims } from '../claims/sweep-claims.ts'
import type { Config } from '../config.ts'
import { CLAIM_ADDRESS, CLAIM_MAIL, CLAIM_RESEND, LIMITS } from '../limits.ts'
import { sweepRegularly } from '../sweep-regularly.ts'
import type { openStores } from './wire-stores.ts'

interface ClaimSurroundings {
  readonly stores: Awaited<ReturnType<typeof openStores>>
  readonly agents: Pick<CachedAgents, 'find'>
  readonly answerAssertion: AnswerAssertion
  readonly noSuchClient: () => Problem
  readonly urls: ServiceUrls
  readonly log: Log
  readonly metrics: Metrics
  readonly now: () => Date
  /** Gets a line with the link of each mail, where mail becomes files. */
  readonly announce: (line: string) => void
}

/** Claims: their routes, their mail and their upkeep, until disposed. */
export function openClaims(config: Config, around: ClaimSurroundings): { routes: Route[] } & AsyncDisposable {
  const { stores, urls, log, metrics, now } = around
  const { attempts, claims } = stores
  const { hashKey } = config
  const end = endClaim({ claims, now })
  const agentDeps = {
    findAgent: async (id: AgentId) => (await around.agents.find(id))?.agent,
    noSuchClient: around.noSuchClient,
  }
  const api = claimRoutes({
    ...agentDeps,
    beginClaim: beginClaim({ attempts, linkUrl: urls.claimAttempt, now }),
    completeClaim: completeClaim({ attempts, claims, hashKey, endUrl: urls.endClaim, now }),
    endClaim: end,
    answerAssertion: around.answerAssertion,
    ...{ attempts, claims },
    limits: {
      ...{ address: LIMITS.address, client: LIMITS.client },
      ...{ mail: CLAIM_MAIL, mailAddress: CLAIM_ADDRESS, resend: CLAIM_RESEND },
    },
  })
  const pages = claimPageRoutes({
    ...agentDeps,
    link: claimLink({ attempts, claims, endClaim: end, hashKey, now }),
    origin: config.origin,
    limits: LIMITS.pages,
  })
  const resources = new AsyncDisposableStack()
  const sweeping = { db: stores.db, now, log, onSwept: metrics.swept }
  resources.use(sweepRegularly('claims', sweepClaims, sweeping))
  resources.use(
    openMailer({
      ...{ databaseUrl: config.databaseUrl, db: stores.db, sealingKeys: config.sealingKeys, hashKey },
      transport: mailTransport(config.mail, around.announce),
      from: config.mail.from,
      handlers: claimMailHandlers({ attempts, now }),
      caps: scaledMailCaps(config.limitsFactor),
      ...{ log, metrics, now },
    }),
  )
  return { routes: [...api, ...pages], [Symbol.asyncDispose]: () => resources.disposeAsync() }
}
