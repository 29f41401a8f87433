import { randomUUID } from 'node:crypto'
import { Agent, type AgentKey, type AgentName, ANONYMOUS_SCOPES } from '@plainpath/domain'
import { drawRandomBytes, type HashKey } from '@plainpath/sealing'
import type { z } from 'zod'
import type { AgentSecret } from './agent-secret.ts'
import type { AgentStore } from './agent-store.ts'

/**
 * Registers an agent, with a random id and, unless it has keys, a random client secret. The client can choose none of
 * these, nor its scopes and grants. The secret is returned only here, because only its keyed hash is stored.
 *
 * @throws if the store fails; then nothing is stored
 */
export async function registerAgent(
  deps: { agents: Pick<AgentStore, 'add'>; hashKey: HashKey },
  {
    name,
    keys = [],
    dpopBound = false,
  }: { name?: z.infer<typeof AgentName>; keys?: readonly AgentKey[]; dpopBound?: boolean },
  now: Date,
): Promise<{ agent: Agent; secret: string | undefined }> {
  const agent = Agent.parse({
    id: `agt_${drawRandomBytes(16).toString('base64url')}`,
    ...(name && { name }),
    scopes: [...ANONYMOUS_SCOPES],
    status: 'active',
    credentialVersion: 1,
    registeredAt: now,
    keys,
    dpopBound,
  })
  if (keys.length > 0) {
    await deps.agents.add({ agent, secrets: [] })
    return { agent, secret: undefined }
  }
  const { secret, stored } = generateSecret(deps.hashKey, now)
  await deps.agents.add({ agent, secrets: [stored] })
  return { agent, secret }
}

/**
 * Generates a client secret: `pps_` and 256 random bits as 43 base64url characters. A guess is far less likely to
 * succeed than the 2^-160 that RFC 6749 §10.10 recommends. A slow hash would add nothing, because nobody can try 2^256 values.
 *
 * @returns the secret, and its stored form
 */
export function generateSecret(hashKey: HashKey, now: Date): { secret: string; stored: AgentSecret } {
  const secret = `pps_${drawRandomBytes(32).toString('base64url')}`
  const digest = hashKey.hash('client-secret', secret)
  return {
    secret,
    stored: { id: randomUUID(), digest, keyId: hashKey.id, createdAt: now, endsAt: undefined },
  }
}
