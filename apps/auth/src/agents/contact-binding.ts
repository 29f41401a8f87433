/*
 * The lock on `contact:write`, which the code calls the contact binding. Once a client has received a key-bound token
 * (RFC 9449) with that scope, it receives no bearer token with the scope until it clears the lock. Nobody can therefore
 * use a token for that scope without the key to which the token is bound.
 */
import type { AgentId } from '@plainpath/domain'
import type { AuthenticatedAgent } from '../clients/credential-version.ts'
import type { AgentCache } from './agent-cache.ts'
import { changeAndRevoke, type RevocationDeps } from './change-and-revoke.ts'
import type { ContactBindingStore } from './contact-binding-store.ts'

/**
 * Sets the lock. Call this before a bound token with `contact:write` is stored. If this call sets the lock, no earlier
 * token of the client is accepted once it returns: bearer tokens with the scope must be revoked immediately, and the
 * credential version that is raised for this revokes all tokens. If the lock was already set, the revocation is published
 * again, since an earlier call may have failed to publish it. No lock is set for an inactive client, or if one of its
 * credentials was removed after the request was authenticated.
 *
 * @param credentialVersion the client's credential version when the request was authenticated
 * @returns the credential version under which the token is issued
 */
export async function bindContact(
  deps: RevocationDeps & { readonly contactBindings: Pick<ContactBindingStore, 'bind'> },
  id: AgentId,
  credentialVersion: number,
): Promise<number> {
  const binding = await changeAndRevoke(
    deps,
    id,
    (revokeTokens) => deps.contactBindings.bind({ id, credentialVersion }, revokeTokens),
    (result) => result?.credentialVersion,
  )
  // Raising the version to `since` removed no credential, so a request that was authenticated just before is still valid.
  return binding && credentialVersion === binding.since - 1 ? binding.since : credentialVersion
}

/**
 * Clears the lock. Other instances may refuse bearer tokens with the scope until they receive the notification.
 *
 * @returns false if the client is not active, or one of its credentials was removed after it was authenticated
 */
export async function unbindContact(
  deps: {
    readonly contactBindings: Pick<ContactBindingStore, 'unbind'>
    readonly agentCache: Pick<AgentCache, 'invalidate'>
  },
  agent: AuthenticatedAgent,
): Promise<boolean> {
  try {
    return await deps.contactBindings.unbind(agent)
  } finally {
    deps.agentCache.invalidate(agent.id)
  }
}
