import { Problem } from '@plainpath/http'
import { getActiveCredentialVersion } from '../agents/agent-store.ts'
import type { Stores } from '../stores.ts'
import type { TokenRecord } from '../tokens/token-store.ts'

export interface ActiveTokenStores {
  readonly tokens: Pick<Stores['tokens'], 'find'>
  readonly agents: Pick<Stores['agents'], 'find'>
  readonly agentCache: Pick<Stores['agentCache'], 'find'>
}

/**
 * Finds a token that is active as far as this process knows.
 *
 * The token store has already checked the credential version of the client. This function also compares the token with the
 * version that this process caches:
 *
 * - If the cached version is newer, Redis may have lost it, and the token is revoked.
 * - If the cached version is older, the cache is stale. The token is valid, and must be found, for instance to be revoked.
 * - If the client is cached as unknown, another instance may have stored it since, so the client is read from PostgreSQL.
 *
 * @param hash the SHA-256 of the token
 * @returns undefined if the token is unknown, expired or revoked
 */
export async function findActiveToken(
  { tokens, agents, agentCache }: ActiveTokenStores,
  hash: Buffer,
): Promise<TokenRecord | undefined> {
  const token = await tokens.find(hash)
  if (!token) return undefined
  const record = (await agentCache.find(token.clientId)) ?? (await agents.find(token.clientId))
  const credentialVersion = getActiveCredentialVersion(record)
  return credentialVersion !== undefined && credentialVersion <= token.credentialVersion ? token : undefined
}

/**
 * Reads the token of a revocation or an introspection.
 *
 * @throws {Problem} `invalid-request`
 */
export function requireToken(form: URLSearchParams): string {
  const [token, anotherToken] = form.getAll('token')
  if (!token || anotherToken !== undefined)
    throw new Problem('invalid-request', { detail: 'Send the parameter token exactly once.' })
  return token
}
