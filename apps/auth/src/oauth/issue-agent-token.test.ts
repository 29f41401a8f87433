import type { AgentId } from '@plainpath/domain'
import { serviceUrls } from '@plainpath/metadata'
import type { Context } from 'koa'
import { expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import type { AgentRecord } from '../agents/agent-store.ts'
import { CREDENTIAL_VERSION } from '../clients/client-authenticator.ts'
import { createEvents } from '../events.ts'
import type { NewToken } from '../tokens/token-store.ts'
import { type AgentTokenDeps, createAgentTokenIssuer } from './issue-agent-token.ts'

const { agent } = exampleAgent()

/** Issues tokens to `agent`, under the credential version of the request. */
function openIssuer(
  members: { findAgent?: () => AgentRecord; bindContact?: AgentTokenDeps['bindContact'] } = {},
) {
  const saved: NewToken[] = []
  const issue = createAgentTokenIssuer({
    // No request has a proof, so the library is not called.
    provider: {} as AgentTokenDeps['provider'],
    urls: serviceUrls('https://plainpath.example'),
    tokens: { save: async (_hash, token) => void saved.push(token) },
    findAgent: async () => members.findAgent?.() ?? { agent, secrets: [] },
    usage: { recordUse: async () => true },
    events: createEvents(),
    bindContact: members.bindContact ?? (async (_id, credentialVersion) => credentialVersion),
    verifyPresentedAssertion: async () => undefined,
    now: () => new Date(),
  })
  const requestToken = (credentialVersion: number | undefined, id: AgentId = agent.id) => {
    const ctx = { state: { [CREDENTIAL_VERSION]: credentialVersion }, req: { headers: {} }, get: () => '' }
    const form = new URLSearchParams({ grant_type: 'client_credentials' })
    return issue(ctx as unknown as Context, form, id)
  }
  return { saved, requestToken }
}

test('saves a token under the credential version of its request, even if that is outdated', async () => {
  const { saved, requestToken } = openIssuer({
    findAgent: () => ({ agent: { ...agent, credentialVersion: 2 }, secrets: [] }),
  })
  await requestToken(1)
  await requestToken(2)
  expect(saved.map(({ credentialVersion }) => credentialVersion)).toEqual([1, 2])
  await expect(requestToken(undefined)).rejects.toThrow('was not authenticated')
  expect(saved).toHaveLength(2)
})

test('saves no token of an agent that is deactivated while its token is issued', async () => {
  const lookups: AgentRecord[] = [
    { agent: { ...agent, status: 'disabled' }, secrets: [] },
    { agent, secrets: [] },
  ]
  const { saved, requestToken } = openIssuer({ findAgent: () => lookups.pop()! })
  await expect(requestToken(1)).rejects.toMatchObject({ code: 'invalid-client' })
  expect(lookups).toEqual([])
  expect(saved).toEqual([])
})
