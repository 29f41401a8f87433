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
 * Finds a token that this process does not know to be revoked.
 *
 * The store has checked the credential version. But Redis may have lost a newer version that this process still caches: the token
 * is then revoked. If this process caches an older version, its cache is stale: the token is then valid, and must be found, for
 * instance to be revoked. The same holds if this process caches the client as unknown, and another instance has stored it since.
 *
 * @param hash the SHA-256 of the token
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
