/*
 * The lock on `contact:write`: once a client got a key-bound token (RFC 9449) with that scope, it gets no bearer token with
 * it any more, until it clears this. A thief of its credentials or assertion then has no use for them at that scope.
 */
import type { AgentId } from '@plainpath/domain'
import type { CachedAgents } from './cached-agents.ts'
import type { ContactBindingStore } from './contact-binding-store.ts'
import type { EndAgentDeps } from './end-agent.ts'

/**
 * Sets the lock, before a bound token with `contact:write` is stored. When it returns, no earlier token of the client is
 * accepted: the lock raises the generation, since bearer tokens with the scope must end at once and tokens of one client
 * are revoked together. Steps and reasons are those of `endAgent`; where the lock is set already, it is published again,
 * since an earlier call may have failed at that.
 *
 * @param generation the client's when the request was authenticated
 * @returns the generation that the token gets
 */
export async function bindContact(
  deps: EndAgentDeps & { readonly contactBindings: Pick<ContactBindingStore, 'bind'> },
  id: AgentId,
  generation: number,
): Promise<number> {
  const revokeTokens = (raised: number) =>
    deps.tokens.revokeTokensOf({ kind: 'client', id, generation: raised })
  try {
    const bound = await deps.contactBindings.bind(id, generation, revokeTokens)
    if (!bound) return generation
    await revokeTokens(bound.generation)
    deps.cachedAgents.forget(id)
    await deps.revoker.publishRevocation({ kind: 'client', id })
    // The step to `since` removed no credential: a request that was authenticated just before it is as good as one after it.
    return generation === bound.since - 1 ? bound.since : generation
  } finally {
    deps.cachedAgents.forget(id)
  }
}

/** Clears the lock. Other instances may refuse bearer tokens with the scope until they receive the notification. */
export async function unbindContact(
  deps: {
    readonly contactBindings: Pick<ContactBindingStore, 'unbind'>
    readonly cachedAgents: Pick<CachedAgents, 'forget'>
  },
  id: AgentId,
): Promise<boolean> {
  try {
    return await deps.contactBindings.unbind(id)
  } finally {
    deps.cachedAgents.forget(id)
  }
}
