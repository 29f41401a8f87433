import { createServiceUrls } from '@plainpath/metadata'
import type Provider from 'oidc-provider'
import { expect, test } from 'vitest'
import {
  createContext,
  createProofRequest,
  createTestProvider,
  fetchNonce,
} from '../../test/create-test-provider.ts'
import { createExampleAgent } from '../../test/example-agent.ts'
import type { AgentRecord } from '../agents/agent-store.ts'
import { DOCUMENT_EXPIRES_AT } from '../clients/client-authenticator.ts'
import { createEvents } from '../events.ts'
import type { NewToken } from '../tokens/token-store.ts'
import { OAUTH_PATHS } from './create-provider.ts'
import { type AgentTokenDeps, createAgentTokenIssuer } from './issue-agent-token.ts'

const { agent } = createExampleAgent()

/** Creates an issuer of tokens for `agent`. `requestToken` requests one, by default with credential version 1. */
function createTestIssuer(
  overrides: { findAgent?: () => AgentRecord; provider?: Provider; now?: AgentTokenDeps['now'] } = {},
) {
  const savedTokens: NewToken[] = []
  const issueToken = createAgentTokenIssuer({
    provider: overrides.provider ?? createTestProvider().provider,
    urls: createServiceUrls('https://plainpath.example'),
    tokens: { save: async (_hash, token) => void savedTokens.push(token) },
    findAgent: async () => overrides.findAgent?.() ?? { agent, secrets: [] },
    usage: { recordUse: async () => true },
    events: createEvents(),
    bindContact: async (_id, credentialVersion) => credentialVersion,
    verifyPresentedAssertion: async () => undefined,
    now: overrides.now ?? (() => new Date()),
  })
  const requestToken = ({ credentialVersion = 1, ctx = createContext(OAUTH_PATHS.token) } = {}) =>
    issueToken(ctx, new URLSearchParams({ grant_type: 'client_credentials' }), {
      id: agent.id,
      credentialVersion,
    })
  return { savedTokens, requestToken }
}

test('saves a token under the credential version of its request, even if that is outdated', async () => {
  const { savedTokens, requestToken } = createTestIssuer({
    findAgent: () => ({ agent: { ...agent, credentialVersion: 2 }, secrets: [] }),
  })
  await requestToken({ credentialVersion: 1 })
  await requestToken({ credentialVersion: 2 })
  expect(savedTokens.map(({ credentialVersion }) => credentialVersion)).toEqual([1, 2])
})

test('saves no token for an agent that is deactivated while its token is issued', async () => {
  // The issuer finds the agent before it checks the proof or the assertion, and again before it saves the token.
  const lookups: AgentRecord[] = [
    { agent, secrets: [] },
    { agent: { ...agent, status: 'disabled' }, secrets: [] },
  ]
  const { savedTokens, requestToken } = createTestIssuer({ findAgent: () => lookups.shift()! })
  await expect(requestToken()).rejects.toMatchObject({ code: 'invalid-client' })
  expect(lookups).toEqual([])
  expect(savedTokens).toEqual([])
})

test('a bound token never expires after the document of its client, even if marking the proof as used takes long', async () => {
  const clock = { now: new Date('2026-11-20T09:00:00Z') }
  // Marking the proof as used takes a minute.
  const testProvider = createTestProvider({}, async () => {
    clock.now = new Date('2026-11-20T09:01:00Z')
    return true
  })
  const { savedTokens, requestToken } = createTestIssuer({
    provider: testProvider.provider,
    now: () => clock.now,
  })
  const documentExpiresAt = new Date('2026-11-20T09:10:00Z')
  const { ctx, jkt } = await createProofRequest({ nonce: await fetchNonce(testProvider) })
  ctx.state[DOCUMENT_EXPIRES_AT] = documentExpiresAt
  await requestToken({ ctx })
  expect(clock.now).toEqual(new Date('2026-11-20T09:01:00Z'))
  expect(savedTokens).toMatchObject([{ jkt, expiresAt: documentExpiresAt }])
})
