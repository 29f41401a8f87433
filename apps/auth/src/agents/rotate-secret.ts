import { err, ok, type Result, RULES } from '@plainpath/domain'
import type { HashKey } from '@plainpath/sealing'
import type { AuthenticatedAgent, ChangedAgent } from '../clients/credential-version.ts'
import type { AgentCache } from './agent-cache.ts'
import type { AgentSecret } from './agent-secret.ts'
import type { AddSecretRefusal, AgentStore, SecretRemoval } from './agent-store.ts'
import { changeAndRevoke, type RevocationDeps } from './change-and-revoke.ts'
import { generateSecret } from './register-agent.ts'

interface AddedSecret {
  /** The new secret in plain text, which cannot be read again. */
  readonly secret: string
  /** The stored form of the new secret. */
  readonly stored: AgentSecret
  /** All secrets that are accepted now, the new one included. */
  readonly acceptedSecrets: readonly AgentSecret[]
}

/** Adds a second secret to an agent. The older one expires after `RULES.oldSecretMs`, which is seven days. */
export async function addSecret(
  deps: {
    agents: Pick<AgentStore, 'addSecret'>
    agentCache: Pick<AgentCache, 'invalidate'>
    hashKey: HashKey
  },
  agent: AuthenticatedAgent,
  now: Date,
): Promise<Result<AddedSecret, AddSecretRefusal>> {
  const { secret, stored } = generateSecret(deps.hashKey, now)
  try {
    const addition = await deps.agents.addSecret(agent, stored, new Date(now.getTime() + RULES.oldSecretMs))
    return addition.ok ? ok({ secret, stored, acceptedSecrets: addition.value }) : err(addition.error)
  } finally {
    deps.agentCache.invalidate(agent.id)
  }
}

/**
 * Removes a secret and revokes every token of its agent. When it returns, no token that was issued for the secret is
 * accepted. If an instance with a stale cache still issues a token for the secret, that token is invalid. A revocation is
 * published even if the agent does not have the secret, since an earlier call may have removed it and then failed to
 * publish.
 */
export async function removeSecret(
  deps: RevocationDeps & { readonly agents: Pick<AgentStore, 'removeSecret'> },
  { agent, secretId }: { agent: ChangedAgent; secretId: string },
  now: Date,
): Promise<SecretRemoval['outcome']> {
  const removal = await changeAndRevoke<SecretRemoval>(
    deps,
    agent.id,
    (revokeTokens) => deps.agents.removeSecret(agent, secretId, now, revokeTokens),
    (result) => ('credentialVersion' in result ? result.credentialVersion : undefined),
  )
  return removal.outcome
}
