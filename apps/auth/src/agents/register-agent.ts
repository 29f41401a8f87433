import { randomBytes, randomUUID } from 'node:crypto'
import { Agent, type AgentKey, type AgentName, ANONYMOUS_SCOPES } from '@plainpath/domain'
import type { HashKey } from '@plainpath/sealing'
import type { z } from 'zod'
import type { AgentRepository } from './agent-repository.ts'
import type { AgentSecret } from './agent-secret.ts'

/**
 * Registers an agent and makes its id and, unless it brings keys, its client secret; the caller chooses neither, nor
 * scopes or grants.
 *
 * The secret is returned once; its keyed hash is kept.
 *
 * @throws only if the store fails; nothing is kept then
 */
export async function registerAgent(
  deps: { agents: Pick<AgentRepository, 'add'>; hashKey: HashKey },
  { name, keys = [] }: { name?: z.infer<typeof AgentName>; keys?: readonly AgentKey[] },
  now: Date,
): Promise<{ agent: Agent; secret: string | undefined }> {
  const agent = Agent.parse({
    id: `agt_${randomBytes(16).toString('base64url')}`,
    ...(name && { name }),
    scopes: [...ANONYMOUS_SCOPES],
    status: 'active',
    generation: 1,
    registeredAt: now,
    keys,
  })
  if (keys.length > 0) {
    await deps.agents.add({ agent, secrets: [] })
    return { agent, secret: undefined }
  }
  const { secret, kept } = newSecret(deps.hashKey, now)
  await deps.agents.add({ agent, secrets: [kept] })
  return { agent, secret }
}

/**
 * A secret, and what is kept of it. It is `pps_` and 256 random bits as 43 base64url characters, past the 2^-160 guessing
 * bound of RFC 6749 §10.10. A slow hash would add nothing: nobody can try 2^256 values, however fast each try is.
 */
export function newSecret(hashKey: HashKey, now: Date): { secret: string; kept: AgentSecret } {
  const secret = `pps_${randomBytes(32).toString('base64url')}`
  const digest = hashKey.hash('client-secret', secret)
  return { secret, kept: { id: randomUUID(), digest, keyId: hashKey.id, createdAt: now, endsAt: undefined } }
}
