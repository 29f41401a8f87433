import type { AgentId } from '@plainpath/domain'
import type { ServiceUrls } from '@plainpath/metadata'
import { useMarks } from '../agents/mark-use.ts'
import { answerAssertion } from '../assertions/answer-assertion.ts'
import { exchangeAssertion } from '../assertions/exchange-assertion.ts'
import { issueAssertion } from '../assertions/issue-assertion.ts'
import type { Config } from '../config.ts'
import type { AuthEvents } from '../events.ts'
import type { KeyFollower } from '../keys/key-follower.ts'
import { createProvider, providerSlot } from '../oauth/create-provider.ts'
import { gateVoucher } from '../oauth/override-provider.ts'
import { clientAdapter, readOnlyAdapter, tokenAdapter } from '../oauth/provider-adapters.ts'
import type { ResourceServer } from '../resource-servers/resource-servers.ts'
import type { Stores } from '../stores.ts'

/** What is signed here, and what is exchanged: the Provider with its models, and identity assertions. */
export function wireOAuth(deps: {
  config: Config
  stores: Stores
  signing: KeyFollower
  resourceServers: () => readonly ResourceServer[]
  urls: ServiceUrls
  events: AuthEvents
  now: () => Date
}) {
  const { config, stores, signing, resourceServers, urls, events, now } = deps
  const vouch = gateVoucher()
  const { agents, cachedAgents, identityAssertions: assertions, claims, tokens } = stores
  const generationOf = async (id: AgentId) => {
    const agent = (await cachedAgents.find(id))?.agent
    return agent?.status === 'active' ? agent.generation : undefined
  }
  const marks = useMarks({ cachedAgents, agents, now })
  const models: Record<string, ReturnType<typeof readOnlyAdapter>> = {
    Client: clientAdapter({ find: cachedAgents.find, resourceServers }),
    ClientCredentials: tokenAdapter({ tokens, generationOf, markUse: marks.mark, events }),
  }
  const adapter = (model: string) => models[model] ?? readOnlyAdapter(`no ${model} is ever made here`)
  const exchange = exchangeAssertion({ assertions, keys: () => provider.ring, issuer: urls.origin, now })
  const emailOf = (claimId: string) => claims.emailOf(claimId, now())
  const provider = providerSlot(
    (ring) =>
      createProvider({
        vouch,
        revocationMark: () => stores.revoker.mark,
        urls,
        adapter,
        ring,
        resourceServers,
        exchangeAssertion: exchange,
        emailOf,
        now,
      }),
    signing.keys,
  )
  signing.start(provider.swap)
  const issue = issueAssertion({
    assertions,
    keys: () => provider.ring,
    requireCurrent: signing.requireCurrent,
    issuer: urls.origin,
    overlapMs: config.keys.overlapMs,
    now,
  })
  return {
    provider,
    vouch,
    clientExpiry: marks.expiryOf,
    answerAssertion: answerAssertion({ issueAssertion: issue, urls }),
  }
}
