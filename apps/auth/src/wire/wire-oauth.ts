import type { AgentId } from '@plainpath/domain'
import type { ServiceUrls } from '@plainpath/metadata'
import { useMarks } from '../agents/mark-use.ts'
import { answerAssertion } from '../assertions/answer-assertion.ts'
import { exchangeAssertion } from '../assertions/exchange-assertion.ts'
import { issueAssertion } from '../assertions/issue-assertion.ts'
import type { Config } from '../config.ts'
import type { KeyFollower } from '../keys/key-follower.ts'
import { clientAdapter } from '../oauth/client-adapter.ts'
import { createProvider } from '../oauth/create-provider.ts'
import { gateVoucher } from '../oauth/gate-voucher.ts'
import { providerSlot } from '../oauth/provider-slot.ts'
import { readOnlyAdapter, tokenAdapter } from '../oauth/token-adapter.ts'
import type { ResourceServer } from '../resource-servers/resource-servers.ts'
import type { openStores } from './wire-stores.ts'

/** What is signed here, and what is exchanged: the Provider with its models, and identity assertions. */
export function wireOAuth(deps: {
  config: Config
  stores: Awaited<ReturnType<typeof openStores>>
  signing: KeyFollower
  resourceServers: () => readonly ResourceServer[]
  urls: ServiceUrls
  onIssued?: (scopes: readonly string[]) => void
  now: () => Date
}) {
  const { config, stores, signing, resourceServers, urls, now } = deps
  const vouch = gateVoucher()
  const { agents, identityAssertions: assertions, claims } = stores
  const generationOf = async (id: AgentId) => {
    const agent = (await agents.find(id))?.agent
    return agent?.status === 'active' ? agent.generation : undefined
  }
  const marks = useMarks({ agents, store: stores.store, now })
  const models: Record<string, ReturnType<typeof readOnlyAdapter>> = {
    Client: clientAdapter({ find: agents.find, resourceServers }),
    ClientCredentials: tokenAdapter({
      ...{ tokens: stores.tokens, generationOf },
      markUse: marks.mark,
      onIssued: deps.onIssued,
    }),
  }
  const adapter = (model: string) => models[model] ?? readOnlyAdapter(`no ${model} is ever made here`)
  const exchange = exchangeAssertion({ assertions, keys: () => provider.ring, issuer: urls.origin, now })
  const emailOf = (claimId: string) => claims.emailOf(claimId, now())
  const provider = providerSlot(
    (ring) =>
      createProvider({
        vouch,
        revocationMark: stores.revocationMark,
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
    standingClaim: (id: AgentId) => claims.live(id, now()),
    answerAssertion: answerAssertion({ issueAssertion: issue, urls }),
  }
}
