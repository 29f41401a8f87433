import type { AgentId } from '@plainpath/domain'
import type { RevocationPublisher } from '../revocation/revocation-publisher.ts'
import type { TokenStore } from '../tokens/token-store.ts'
import type { AgentCache } from './agent-cache.ts'
import type { AgentStore, DeactivationOptions } from './agent-store.ts'

/** The dependencies of functions that disable or delete an agent, or remove one of its credentials. */
export interface RevocationDeps {
  readonly tokens: Pick<TokenStore, 'revokeTokensOf'>
  readonly agentCache: Pick<AgentCache, 'invalidate'>
  readonly revocationPublisher: Pick<RevocationPublisher, 'publish'>
}

/**
 * Disables or deletes an agent. When it returns, no API accepts a token of the agent, not even one that an instance
 * with a stale cache issues later, or that an API has cached (R-LIN, docs/revocation).
 *
 * 1. Before the commit, raise the credential version in the token store. If the commit then fails, the agent stays
 *    active but its tokens are invalid until the raised version expires there. This is safe, and rare.
 * 2. Commit.
 * 3. Raise the credential version again, because Redis may have lost it in between and loaded the old one from PostgreSQL
 *    again. If this fails, the agent is disabled or deleted although the caller gets an error.
 * 4. Publish to the APIs, even if the agent was deleted before: an earlier call may have failed at this step.
 *
 * @returns false if there is no such agent, or it was already deleted, or it requested this and one of its credentials was
 *   removed since then
 */
export async function deactivateAgent(
  {
    agents,
    tokens,
    agentCache,
    revocationPublisher,
  }: RevocationDeps & { readonly agents: Pick<AgentStore, 'deactivate'> },
  id: AgentId,
  status: 'disabled' | 'deleted',
  options: DeactivationOptions = {},
): Promise<boolean> {
  const revokeTokens = (credentialVersion: number) =>
    tokens.revokeTokensOf({ kind: 'client', id, credentialVersion })
  try {
    const credentialVersion = await agents.deactivate(id, status, revokeTokens, options)
    if (credentialVersion !== undefined) await revokeTokens(credentialVersion)
    // Runs before publishing, because an API that introspects after the notification must not get a cached response.
    agentCache.invalidate(id)
    await revocationPublisher.publish({ kind: 'client', id })
    return credentialVersion !== undefined
  } finally {
    // After an error too, because the change may have been committed.
    agentCache.invalidate(id)
  }
}
