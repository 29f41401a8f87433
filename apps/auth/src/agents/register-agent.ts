import { randomBytes, randomUUID } from 'node:crypto'
import { Agent, type AgentName, ANONYMOUS_SCOPES } from '@plainpath/domain'
import type { HashKey } from '@plainpath/sealing'
import type { z } from 'zod'
import type { AgentStore } from './agent-store.ts'

export type RegisterAgent = (request: {
  name?: z.infer<typeof AgentName>
}) => Promise<{ agent: Agent; secret: string }>

/**
 * Registers an agent and makes its id and its client secret; the caller chooses neither, nor scopes or grants.
 *
 * The secret is `pps_` and 256 random bits as 43 base64url characters, past the 2^-160 guessing bound of
 * RFC 6749 §10.10. It is returned once; its keyed hash is kept. A slow hash would add nothing: nobody can try
 * 2^256 values, however fast each try is.
 *
 * @throws only if the store fails; nothing is kept then
 */
export const registerAgent =
  (deps: { agents: Pick<AgentStore, 'add'>; hashKey: HashKey; now: () => Date }): RegisterAgent =>
  async ({ name }) => {
    const agent = Agent.parse({
      id: `agt_${randomBytes(16).toString('base64url')}`,
      ...(name && { name }),
      scopes: [...ANONYMOUS_SCOPES],
      status: 'active',
      generation: 1,
      registeredAt: deps.now(),
    })
    const secret = `pps_${randomBytes(32).toString('base64url')}`
    const kept = {
      id: randomUUID(),
      digest: deps.hashKey.hash('client-secret', secret),
      keyId: deps.hashKey.id,
      createdAt: agent.registeredAt,
      endsAt: undefined,
    }
    await deps.agents.add({ agent, secrets: [kept] })
    return { agent, secret }
  }
