import { randomBytes } from 'node:crypto'
import { Agent, type AgentKey, type AgentName, ANONYMOUS_SCOPES } from '@plainpath/domain'
import type { HashKey } from '@plainpath/sealing'
import type { z } from 'zod'
import type { AgentStore } from './agent-store.ts'
import { newSecret } from './rotate-secret.ts'

export type RegisterAgent = (request: {
  name?: z.infer<typeof AgentName>
  keys?: readonly AgentKey[]
}) => Promise<{ agent: Agent; secret: string | undefined }>

/**
 * Registers an agent and makes its id and, unless it brings keys, its client secret; the caller chooses neither, nor
 * scopes or grants.
 *
 * The secret is returned once; its keyed hash is kept.
 *
 * @throws only if the store fails; nothing is kept then
 */
export const registerAgent =
  (deps: { agents: Pick<AgentStore, 'add'>; hashKey: HashKey; now: () => Date }): RegisterAgent =>
  async ({ name, keys = [] }) => {
    const agent = Agent.parse({
      id: `agt_${randomBytes(16).toString('base64url')}`,
      ...(name && { name }),
      scopes: [...ANONYMOUS_SCOPES],
      status: 'active',
      generation: 1,
      registeredAt: deps.now(),
      keys,
    })
    if (keys.length > 0) {
      await deps.agents.add({ agent, secrets: [] })
      return { agent, secret: undefined }
    }
    const { secret, kept } = newSecret(deps.hashKey, agent.registeredAt)
    await deps.agents.add({ agent, secrets: [kept] })
    return { agent, secret }
  }
