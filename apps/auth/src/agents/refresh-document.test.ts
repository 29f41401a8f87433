import { AgentId } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { type FetchedDocument, refreshDocument } from './refresh-document.ts'

const ID = AgentId.parse('https://agents.example/client')
const NOW = new Date('2026-11-27T12:00:00Z')
const UNUSABLE: FetchedDocument = { ok: false, error: { kind: 'unusable' }, requestedAt: NOW }
const INVALID: FetchedDocument = {
  ok: false,
  error: { kind: 'member', member: 'jwks', detail: 'must hold 1 to 3 public keys' },
  requestedAt: NOW,
}

/**
 * Applies a document to a client without tokens to revoke, as when an earlier call has revoked them.
 *
 * @returns how often the revocation was published
 */
async function countPublished(fetched: FetchedDocument, options: { publish: boolean }): Promise<number> {
  let publishedCount = 0
  const deps = {
    urlClients: { refresh: async () => undefined, expireDocument: async () => undefined },
    tokens: { revokeTokensOf: async () => undefined },
    agentCache: { invalidate: () => undefined },
    revocationPublisher: {
      async publish() {
        publishedCount += 1
      },
    },
  }
  await refreshDocument(deps, ID, fetched, options)
  return publishedCount
}

test('refreshDocument with `publish` publishes the revocation of an invalid document that an earlier call has stored', async () => {
  expect(await countPublished(INVALID, { publish: true })).toBe(1)
  expect(await countPublished(INVALID, { publish: false })).toBe(0)
})

test('refreshDocument publishes nothing if no document of the client could be fetched', async () => {
  expect(await countPublished(UNUSABLE, { publish: true })).toBe(0)
})
