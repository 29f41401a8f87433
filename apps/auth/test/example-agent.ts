import { randomBytes, randomUUID } from 'node:crypto'
import { Agent } from '@plainpath/domain'
import { createSealer, generateHashKey, generateKeyEncryptionKey, parseHashKey } from '@plainpath/sealing'
import type { AgentRecord } from '../src/agents/agent-store.ts'

export const createExampleSealer = () => createSealer(generateKeyEncryptionKey())
export const createExampleHashKey = () => parseHashKey(generateHashKey())

/** Creates an agent, by default an active one, with one secret. Nobody knows the secret, because its digest is random. */
export function createExampleAgent(members: Partial<Agent> = {}): AgentRecord {
  const registeredAt = members.registeredAt ?? new Date('2026-11-20T09:00:00Z')
  return {
    agent: Agent.parse({
      id: `agt_${randomBytes(16).toString('base64url')}`,
      scopes: ['guides:read', 'waitlist:write'],
      status: 'active',
      credentialVersion: 1,
      ...members,
      registeredAt,
    }),
    secrets: [
      {
        id: randomUUID(),
        digest: randomBytes(32),
        keyId: 'key-1',
        createdAt: registeredAt,
        endsAt: undefined,
      },
    ],
  }
}
