import type { Database } from '@plainpath/postgres'

/**
 * Builds an SQL condition on a row of `agents`: the agent's tokens have not been revoked since `parameter` was its credential
 * version. A statement that locks the row for a change that the agent requested includes it, because the body of a request may
 * arrive long after the client was authenticated. Otherwise, a removed credential could still change the agent.
 *
 * The version also rises when a bound token sets the lock on `contact:write` (`contact-binding.ts`). That removes no credential,
 * so the condition still holds while the lock is set. In rare cases, such as a lock that was set and cleared meanwhile, the
 * condition does not hold although no credential was removed. The agent then repeats its request.
 *
 * @param parameter the parameter with the version. If it is null, the condition holds: an operator requested the change
 */
export const buildVersionCondition = (parameter: `$${number}`): string =>
  `(${parameter}::int is null or generation = ${parameter}
    or (generation = ${parameter} + 1 and contact_bound_since = generation))`

/**
 * Locks the row of an agent, so that it is neither deactivated nor deleted until `tx` ends.
 *
 * @param agent.credentialVersion the version at authentication; absent if the agent does not request the change
 * @returns false if the agent is not active, or `buildVersionCondition` does not hold
 */
export async function lockActiveAgent(
  tx: Database,
  agent: { readonly id: string; readonly credentialVersion?: number | undefined },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select id from agents where id = $1 and status = 'active' and ${buildVersionCondition('$2')} for no key update`,
    [agent.id, agent.credentialVersion ?? null],
  )
  return rowCount === 1
}
