import { Agent, AgentId } from '@plainpath/domain'
import type { AuthenticatedClient } from '@plainpath/http'
import { createRowReader, type Database } from '@plainpath/postgres'
import { z } from 'zod'

/**
 * Builds an SQL condition on a row of `agents`: the agent's tokens have not been revoked since `parameter` was its credential
 * version. A statement that locks the row for a change that the agent requested includes it, because the body of a request may
 * arrive long after the client was authenticated. Otherwise, a removed credential could still change the agent.
 *
 * The version also rises when a bound token sets the lock on `contact:write` (`contact-binding.ts`). That removes no credential,
 * so the condition still holds while the lock is set. In rare cases, such as a lock that was set and cleared meanwhile, the
 * condition does not hold although no credential was removed. The agent then repeats its request.
 *
 * @param parameter the parameter with the version. If it is null, the condition holds: no agent requested the change
 */
export const buildVersionCondition = (parameter: `$${number}`): string =>
  `(${parameter}::int is null or generation = ${parameter}
    or (generation = ${parameter} + 1 and contact_bound_since = generation))`

/** An agent that requests a change of itself. */
export interface AuthenticatedAgent {
  readonly id: AgentId
  /**
   * The agent's credential version when the request was authenticated. If a credential was removed since then, the change is
   * refused as if the agent were not active, because the removed credential may be the one that authenticated the request.
   */
  readonly credentialVersion: number
}

/**
 * An agent to change. `credentialVersion` is that of `AuthenticatedAgent`, or undefined if no agent requests the change, but an
 * operator or a person. It is required, so that no request of an agent can forget it.
 */
export interface ChangedAgent {
  readonly id: AgentId
  readonly credentialVersion: number | undefined
}

/** Returns the agent that was authenticated by its credentials. */
export const toAuthenticatedAgent = ({
  clientId,
  credentialVersion,
}: Pick<AuthenticatedClient, 'clientId' | 'credentialVersion'>): AuthenticatedAgent => ({
  id: AgentId.parse(clientId),
  credentialVersion,
})

const LockedRow = createRowReader(
  z.object({
    jwks: Agent.shape.keys,
    generation: Agent.shape.credentialVersion,
    contactBoundSince: Agent.shape.contactBoundSince,
  }),
)
/** The columns of a locked row that its changes read. */
export type LockedAgent = Pick<Agent, 'keys' | 'credentialVersion' | 'contactBoundSince'>

/**
 * Locks the row of an agent, so that the agent is neither changed, deactivated nor deleted until `tx` ends.
 *
 * @param agent.credentialVersion see `ChangedAgent`
 * @returns undefined if the agent is not active, or `buildVersionCondition` does not hold
 */
export async function lockActiveAgent(
  tx: Database,
  { id, credentialVersion }: Pick<ChangedAgent, 'credentialVersion'> & { readonly id: string },
): Promise<LockedAgent | undefined> {
  const { rows } = await tx.query(
    `select ${LockedRow.columns} from agents where id = $1 and status = 'active' and ${buildVersionCondition('$2')}
     for no key update`,
    [id, credentialVersion ?? null],
  )
  if (!rows[0]) return undefined
  const { jwks: keys, generation, contactBoundSince } = LockedRow.parse(rows[0])
  return { keys, credentialVersion: generation, contactBoundSince }
}
