import type { AgentId } from '@plainpath/domain'
import type { RevocationPublisher } from '../revocation/revocation-publisher.ts'
import type { TokenStore } from '../tokens/token-store.ts'
import type { AgentCache } from './agent-cache.ts'

/** The dependencies of functions that disable or delete an agent, or remove one of its credentials. */
export interface RevocationDeps {
  readonly tokens: Pick<TokenStore, 'revokeTokensOf'>
  readonly agentCache: Pick<AgentCache, 'invalidate'>
  readonly revocationPublisher: Pick<RevocationPublisher, 'publish'>
}

/**
 * Changes an agent and revokes its earlier tokens. When it returns, no API accepts a token that was issued under a lower
 * credential version, not even one that an instance with a stale cache issues later, or that an API has cached (R-LIN,
 * docs/revocation).
 *
 * 1. Before the commit, raise the credential version in the token store. If the commit then fails, the agent is
 *    unchanged but its tokens are invalid until the raised version expires there. This is safe, and rare.
 * 2. Commit.
 * 3. Raise the credential version again, because Redis may have lost it in between and loaded the old one from PostgreSQL
 *    again. If this fails, the agent is changed although the caller gets an error.
 * 4. Publish to the APIs. If this fails, the agent is changed, too. A repeated call must therefore publish again, even
 *    if it changes nothing.
 *
 * @param change takes steps 1 and 2: it calls `revokeTokens` with the new credential version before it commits
 * @param getCredentialVersion returns the credential version for steps 3 and 4, which an unchanged agent can have, too;
 *   undefined to leave out these steps
 * @returns the result of `change`
 */
export async function changeAndRevoke<T>(
  { tokens, agentCache, revocationPublisher }: RevocationDeps,
  id: AgentId,
  change: (revokeTokens: (credentialVersion: number) => Promise<void>) => Promise<T>,
  getCredentialVersion: (result: T) => number | undefined,
): Promise<T> {
  const revokeTokens = (credentialVersion: number) =>
    tokens.revokeTokensOf({ kind: 'client', id, credentialVersion })
  try {
    const result = await change(revokeTokens)
    const credentialVersion = getCredentialVersion(result)
    if (credentialVersion === undefined) return result
    await revokeTokens(credentialVersion)
    // Runs before publishing, because an API that introspects after the notification must not get a cached response.
    agentCache.invalidate(id)
    await revocationPublisher.publish({ kind: 'client', id })
    return result
  } finally {
    // After an error too, because the change may have been committed.
    agentCache.invalidate(id)
  }
}
