/*
 * The lock on `contact:write`: once a client has received a key-bound token (RFC 9449) with that scope, it receives no
 * bearer token with the scope until it clears the lock. Stolen credentials or assertions are then useless for that scope.
 */
import type { AgentId } from '@plainpath/domain'
import type { AgentCache } from './agent-cache.ts'
import type { ContactBindingStore } from './contact-binding-store.ts'
import type { RevocationDeps } from './deactivate-agent.ts'

/**
 * Sets the lock, before a bound token with `contact:write` is stored. After it returns, no earlier token of the client is
 * accepted. Its bearer tokens with the scope must be revoked immediately, and raising its credential version revokes all of its
 * tokens. `deactivateAgent` explains the order of the steps. If the lock was already set, the revocation is published again,
 * since an earlier call may have failed to publish it.
 *
 * @param credentialVersion the client's credential version when the request was authenticated
 * @returns the credential version to issue the token under
 */
export async function bindContact(
  deps: RevocationDeps & { readonly contactBindings: Pick<ContactBindingStore, 'bind'> },
  id: AgentId,
  credentialVersion: number,
): Promise<number> {
  const revokeTokens = (raisedVersion: number) =>
    deps.tokens.revokeTokensOf({ kind: 'client', id, credentialVersion: raisedVersion })
  try {
    const binding = await deps.contactBindings.bind(id, credentialVersion, revokeTokens)
    if (!binding) return credentialVersion
    await revokeTokens(binding.credentialVersion)
    deps.agentCache.invalidate(id)
    await deps.revocationPublisher.publish({ kind: 'client', id })
    // Raising the version to `since` removed no credential, so a request that was authenticated just before it is valid.
    return credentialVersion === binding.since - 1 ? binding.since : credentialVersion
  } finally {
    deps.agentCache.invalidate(id)
  }
}

/** Clears the lock. Other instances may refuse bearer tokens with the scope until they receive the notification. */
export async function unbindContact(
  deps: {
    readonly contactBindings: Pick<ContactBindingStore, 'unbind'>
    readonly agentCache: Pick<AgentCache, 'invalidate'>
  },
  id: AgentId,
): Promise<boolean> {
  try {
    return await deps.contactBindings.unbind(id)
  } finally {
    deps.agentCache.invalidate(id)
  }
}
