import { type AgentRecord, getActiveCredentialVersion } from '../agents/agent-store.ts'
import type { Stores } from '../stores.ts'
import type { TokenRecord } from '../tokens/token-store.ts'

/**
 * Finds a token that this process does not know to be revoked.
 *
 * The store has checked the credential version, but its cache may have lost a newer one that this process knows. If this process
 * knows only an older one, its own cache is stale. The token is then valid, and must be found, for instance to be revoked.
 *
 * @param hash the SHA-256 of the token
 */
export async function findActiveToken(
  {
    tokens,
    agentCache,
  }: {
    tokens: Pick<Stores['tokens'], 'find'>
    agentCache: { find(id: TokenRecord['clientId']): Promise<AgentRecord | undefined> }
  },
  hash: Buffer,
): Promise<TokenRecord | undefined> {
  const token = await tokens.find(hash)
  if (!token) return undefined
  const credentialVersion = getActiveCredentialVersion(await agentCache.find(token.clientId))
  return credentialVersion !== undefined && credentialVersion <= token.credentialVersion ? token : undefined
}
