/* Describes tokens to resource servers, in signed responses (RFC 7662, RFC 9701). */
import type { ServiceUrls } from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import { describeProvenFacts } from '../agents/proven-facts.ts'
import { createJwsSigner } from '../keys/jws-signer.ts'
import type { KeyFollower } from '../keys/key-follower.ts'
import type { ResourceServer } from '../resource-servers/resource-servers.ts'
import type { Stores } from '../stores.ts'
import type { TokenRecord } from '../tokens/token-store.ts'
import { ACCESS_TOKEN_PATTERN } from './access-token.ts'
import { type ActiveTokenStores, findActiveToken } from './find-active-token.ts'

export interface IntrospectionDeps {
  readonly urls: ServiceUrls
  readonly stores: ActiveTokenStores & {
    readonly revocationPublisher: Pick<Stores['revocationPublisher'], 'storeMark'>
  }
  readonly signing: Pick<KeyFollower, 'keys' | 'requireLease'>
  /**
   * Describes the person of a valid e-mail verification, as members of the introspection: the person's e-mail address, and the
   * details of the agent that mails to the person contain.
   */
  findPerson(verificationId: string): Promise<object | undefined>
  readonly now: () => Date
}

/**
 * Describes a token to a resource server. Does not say why a token is inactive.
 *
 * @param options.withPerson whether to describe the person on whose e-mail verification the token depends, if there is one
 * @returns a JWT whose audience is the resource server
 * @throws {Problem} `unavailable` if this instance may no longer use its signing key
 * @throws the error of a store that is unavailable
 */
export type IntrospectToken = (
  presentedToken: string,
  server: Pick<ResourceServer, 'client_id' | 'audience'>,
  options: { withPerson: boolean },
) => Promise<string>

/**
 * Creates the function that introspects tokens.
 *
 * An RFC 9701 response does not name its token, so two responses could be swapped in transit. The claim `token_hash` prevents
 * that. The claim `revocation_mark` names the mark, the random id of the Redis data through which revocations are published. An
 * API may cache the response if its subscription to revocations has the same mark. A response with a person has no mark, so no
 * API caches it.
 */
export function createTokenIntrospector(deps: IntrospectionDeps): IntrospectToken {
  const { urls, stores, findPerson, now } = deps
  const sign = createResponseSigner(deps.signing)
  return async (presentedToken, server, { withPerson }) => {
    const hash = sha256(presentedToken)
    const activeToken = ACCESS_TOKEN_PATTERN.test(presentedToken)
      ? await findActiveToken(stores, hash)
      : undefined
    const token = activeToken && mayIntrospect(server, activeToken, urls) ? activeToken : undefined
    const { storeMark } = stores.revocationPublisher
    const person = withPerson && token?.verificationId ? await findPerson(token.verificationId) : undefined
    return sign({
      iss: urls.origin,
      aud: server.client_id,
      iat: Math.floor(now().getTime() / 1000),
      token_hash: hash.toString('base64url'),
      ...(token && !withPerson && storeMark !== undefined && { revocation_mark: storeMark }),
      token_introspection: token ? { ...describeToken(token, urls.origin), ...person } : { active: false },
    })
  }
}

/**
 * A resource server may introspect the tokens for its own audience. The API may also introspect the tokens that apps get for the
 * signed-in MCP address.
 */
const mayIntrospect = (
  server: Pick<ResourceServer, 'audience'>,
  { audience }: TokenRecord,
  { base, signedInMcp }: ServiceUrls,
) => audience === server.audience || (audience === signedInMcp && server.audience === base)

const describeToken = (
  { clientId, scope, audience, issuedAt, expiresAt, verificationId, jkt }: TokenRecord,
  issuer: string,
) => ({
  active: true,
  iss: issuer,
  client_id: clientId,
  aud: audience,
  scope,
  iat: Math.floor(issuedAt.getTime() / 1000),
  exp: Math.floor(expiresAt.getTime() / 1000),
  token_type: jkt === undefined ? 'Bearer' : 'DPoP',
  ...(jkt !== undefined && { cnf: { jkt } }),
  identity_type: verificationId ? 'verified_email' : 'anonymous',
  // `registration_id` is the public name of the verification's id.
  ...(verificationId && { registration_id: verificationId }),
  ...describeProvenFacts(clientId, verificationId !== undefined),
})

/**
 * Creates a function that signs with the current key. It parses the key again only when the key changes, because parsing takes
 * longer than a signature. The function throws the problem `unavailable` if this instance may no longer use the key.
 */
function createResponseSigner(signing: IntrospectionDeps['signing']) {
  let currentSigner: { key: object; sign: (claims: object) => string } | undefined
  return (claims: object): string => {
    signing.requireLease()
    const key = signing.keys.signingKey
    if (currentSigner?.key !== key)
      currentSigner = { key, sign: createJwsSigner(key, 'token-introspection+jwt') }
    return currentSigner.sign(claims)
  }
}
