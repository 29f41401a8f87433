import type { ChangedAgent } from '../clients/credential-version.ts'
import type { AgentStore } from './agent-store.ts'
import { changeAndRevoke, type RevocationDeps } from './change-and-revoke.ts'

/**
 * Disables or deletes an agent, and revokes its tokens as `changeAndRevoke` explains. The revocation is published even if
 * the agent was deleted before, since an earlier call may have failed to publish it.
 *
 * @returns false if there is no such agent, or it was already deleted, or it requested this and one of its credentials was
 *   removed since then
 */
export async function deactivateAgent(
  deps: RevocationDeps & { readonly agents: Pick<AgentStore, 'deactivate'> },
  agent: ChangedAgent,
  status: 'disabled' | 'deleted',
  reason?: string,
): Promise<boolean> {
  const credentialVersion = await changeAndRevoke(
    deps,
    agent.id,
    (revokeTokens) => deps.agents.deactivate(agent, status, revokeTokens, reason),
    (version) => version,
  )
  if (credentialVersion === undefined)
    await deps.revocationPublisher.publish({ kind: 'client', id: agent.id })
  return credentialVersion !== undefined
}
