import type { AgentId, StandingClaim } from '@plainpath/domain'
import type { Problem, Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { agentRoutes } from '../agents/agent-routes.ts'
import { registerAgent } from '../agents/register-agent.ts'
import { replaceKeys } from '../agents/replace-keys.ts'
import { addSecret, endSecret } from '../agents/rotate-secret.ts'
import { secretRoutes } from '../agents/secret-routes.ts'
import type { Config } from '../config.ts'
import { LIMITS } from '../limits.ts'
import type { openStores } from './wire-stores.ts'

/** What agents ask about themselves. */
export function wireAgents(
  config: Pick<Config, 'hashKey' | 'limitsFactor'>,
  around: {
    stores: Awaited<ReturnType<typeof openStores>>
    standingClaim(id: AgentId): Promise<StandingClaim | undefined>
    noSuchClient: () => Problem
    urls: ServiceUrls
    now: () => Date
  },
): Route[] {
  const { stores, standingClaim, noSuchClient, urls, now } = around
  const { hashKey } = config
  const { store, secrets, tokens } = stores
  const { forget } = stores.agents
  const limits = { ...LIMITS, manage: LIMITS.address, factor: config.limitsFactor }
  const agents = agentRoutes({
    registerAgent: registerAgent({ agents: store, hashKey, now }),
    endAgent: stores.endAgent,
    replaceKeys: replaceKeys({ agents: store, forget }),
    agents: store,
    ...{ standingClaim, noSuchClient, urls, limits, now },
  })
  const rotation = secretRoutes({
    addSecret: addSecret({ secrets, hashKey, forget, now }),
    endSecret: endSecret({
      secrets,
      raiseGeneration: tokens.raiseGeneration,
      announceEnd: (id) => stores.announceEnd({ kind: 'client', id }),
      ...{ forget, now },
    }),
    ...{ noSuchClient, limits },
  })
  return [...agents, ...rotation]
}
