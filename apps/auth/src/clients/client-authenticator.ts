/*
 * The client-authentication layer for agents: every endpoint that takes an agent's credentials uses it.
 * `read-credentials.ts` reads the credentials, and `client-assertion.ts` verifies assertions. `app-authenticator.ts`
 * authenticates apps.
 */
import { AgentId, err, ok, type Result } from '@plainpath/domain'
import {
  type AuthenticatedClient,
  enforceLimits,
  findHeaders,
  type Limiter,
  listNetworks,
  Problem,
} from '@plainpath/http'
import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { type HashKey, timingSafeEqualBytes } from '@plainpath/sealing'
import type { Context } from 'koa'
import { isSecretAccepted } from '../agents/agent-secret.ts'
import type { AgentRecord } from '../agents/agent-store.ts'
import { identifyClient } from '../agents/proven-facts.ts'
import { isUrlClient } from '../agents/refresh-document.ts'
import { FAILED_AUTHENTICATION_LIMIT } from '../limits.ts'
import { createAssertionVerifier, validateClaims } from './client-assertion.ts'
import type { ClientWithCredentials, MarkAssertionUsed } from './client-with-credentials.ts'
import { type AssertionFault, describeAssertionFault } from './describe-assertion-fault.ts'
import { BASIC_CHALLENGE_HEADERS, createInvalidClientProblem } from './invalid-client.ts'
import {
  type AuthenticationFault,
  type ClientAuthentication,
  readClientAuthentication,
} from './read-credentials.ts'
import type { FindUrlClient } from './url-clients.ts'
import type { UsedJtiStore } from './used-jti-store.ts'

type CredentialFault = AssertionFault | 'secret'

/** The result for valid credentials. `credentialVersion`: see `MarkAssertionUsed`. */
type VerifiedCredentials = { readonly credentialVersion?: number | undefined }

export interface AuthenticateClientDeps {
  /** Finds a registered agent in any status. The record may come from a cache. */
  find(id: AgentId): Promise<AgentRecord | undefined>
  findExpired(id: AgentId): Promise<ClientWithCredentials | undefined>
  findUrlClient: FindUrlClient
  usedJtis: Pick<UsedJtiStore, 'markUsed'>
  /** The only accepted audience of client assertions. */
  issuer: string
  hashKey: HashKey
  limiter: Limiter
  now: () => Date
}

/**
 * Authenticates the client of a request. A token is issued under the returned credential version, so removing the credential
 * revokes the token even if that happens before the token is stored.
 *
 * @param form the body; absent if the endpoint takes no form
 * @param options.isTokenRequest true at the token endpoint, to which a URL client must send its first request
 */
export type AuthenticateClient = (
  ctx: Context,
  form?: URLSearchParams,
  options?: { isTokenRequest?: boolean },
) => Promise<AuthenticatedClient>

/** Member of `ctx.state`: when the document of a URL client expires. The client's token expires no later. */
export const DOCUMENT_EXPIRES_AT = 'clientDocumentExpiresAt'

/**
 * Creates the function that authenticates an agent from a request. An unknown, deleted or disabled client and wrong
 * credentials all get the same 401, after the same work. Only a caller with the secret or key of an expired agent
 * learns that it expired. `describe-assertion-fault.ts` decides which mistakes in an assertion the response names.
 * Wrong credentials are counted per address (IPv6 by /64) and client id: over the limit, further ones get 429, and
 * correct credentials still succeed.
 *
 * The function throws the problems `invalid-client`, `client-expired`, `invalid-request` and `rate-limited`.
 */
export function createClientAuthenticator(deps: AuthenticateClientDeps): AuthenticateClient {
  const { hashKey, issuer, now } = deps
  const verifyAssertion = createAssertionVerifier(issuer)
  const markAssertionUsed: MarkAssertionUsed = async (assertion) => ({
    outcome: await deps.usedJtis.markUsed(assertion),
  })
  const dummySecrets = [
    { digest: hashKey.hash('client-secret', 'no client has this secret'), keyId: hashKey.id },
  ]

  function hasSecret(client: ClientWithCredentials | undefined, secret: string): boolean {
    const digest = hashKey.hash('client-secret', secret)
    const matches = (client?.secrets.length ? client.secrets : dummySecrets).filter(
      (stored) => stored.keyId === hashKey.id && timingSafeEqualBytes(stored.digest, digest),
    )
    // A client has one authentication method: if it registered keys, no secret is accepted (RFC 7591 §2). The connection of an
    // app has neither keys nor secrets, and a match with the dummy secret must not authenticate it.
    return client?.keys.length === 0 && client.secrets.length > 0 && matches.length > 0
  }

  /** Verifies that the credentials belong to the client, and marks an assertion as used. */
  async function verifyCredentials(
    authentication: ClientAuthentication,
    client: ClientWithCredentials | undefined,
    markUsed: MarkAssertionUsed,
  ): Promise<Result<VerifiedCredentials, CredentialFault>> {
    if (authentication.method === 'secret')
      return hasSecret(client, authentication.credentials.secret) ? ok({}) : err('secret')
    const { assertion } = authentication
    const verified = assertion.ok ? await verifyAssertion(assertion.value, client, now()) : assertion
    if (!verified.ok) return verified
    const { outcome, credentialVersion } = await markUsed(verified.value)
    if (outcome === 'accepted') return ok({ credentialVersion })
    // `not-current`: the client is no longer active, the key is no longer one of its keys, or a new URL client was refused. The
    // response is the same as for a wrong signature.
    return err(outcome === 'used' ? 'assertion-used' : 'signature-unverified')
  }

  /** Finds a registered client. `activeClient` has only its accepted secrets; it is undefined unless the client is active. */
  async function findRegistered(id: AgentId) {
    const client = await deps.find(id)
    const secrets = client?.secrets.filter((secret) => isSecretAccepted(secret, now())) ?? []
    const activeClient = client?.agent.status === 'active' ? { ...client.agent, secrets } : undefined
    return { client, activeClient }
  }

  return async (ctx, form, { isTokenRequest = false } = {}) => {
    const headers = {
      authorization: findHeaders(ctx.req, 'authorization'),
      clientAssertion: findHeaders(ctx.req, 'client-assertion'),
    }
    const parsed = readClientAuthentication(headers, form)
    if (!parsed.ok) throw createRequestProblem(parsed.error, { hasForm: form !== undefined })
    const authentication = parsed.value
    const clientId =
      authentication.method === 'secret' ? authentication.credentials.clientId : authentication.clientId
    const id = AgentId.safeParse(clientId)
    const urlMistake = findUrlMistake(authentication, clientId, id.success)
    if (urlMistake !== undefined) throw createInvalidClientProblem(urlMistake)
    if (id.success && isUrlClient(id.data))
      return await authenticateUrlClient(ctx, authentication, id.data, isTokenRequest)
    const { client, activeClient } = id.success ? await findRegistered(id.data) : {}
    const verified = await verifyCredentials(authentication, activeClient, markAssertionUsed)
    if (!activeClient || !verified.ok) {
      // The query runs for a known client too, so the response time does not reveal which ids exist.
      const expiredLookup = id.success ? deps.findExpired(id.data) : undefined
      // A known client has not expired, so a failed query must not turn its 401 into a 503.
      const expiredClient = await (client ? expiredLookup?.catch(() => undefined) : expiredLookup)
      // An expired client's assertion is not marked as used, because it authorises nothing.
      const acceptUnmarked = async () => ({ outcome: 'accepted' as const })
      if (
        !client &&
        expiredClient &&
        (await verifyCredentials(authentication, expiredClient, acceptUnmarked)).ok
      )
        throw new Problem('client-expired', { headers: BASIC_CHALLENGE_HEADERS })
      await countFailure(ctx, clientId)
      throw createInvalidClientProblem(
        verified.ok ? undefined : describeFault(authentication, verified.error),
      )
    }
    const { credentialVersion } = activeClient
    return { ...identifyClient(activeClient.id), scopes: new Set(activeClient.scopes), credentialVersion }
  }

  /** Authenticates a URL client. Fetches its document only if the claims of the assertion are valid. */
  async function authenticateUrlClient(
    ctx: Context,
    authentication: ClientAuthentication,
    id: AgentId,
    isTokenRequest: boolean,
  ): Promise<AuthenticatedClient> {
    const hasValidClaims =
      authentication.method === 'assertion' &&
      authentication.assertion.ok &&
      validateClaims(authentication.assertion.value, { issuer, now: now() }).ok
    const client = hasValidClaims ? await deps.findUrlClient(ctx, id, { isTokenRequest }) : undefined
    const verified = await verifyCredentials(
      authentication,
      client,
      client?.markAssertionUsed ?? markAssertionUsed,
    )
    if (!client || !verified.ok) {
      await countFailure(ctx, id)
      const detail = verified.ok ? undefined : describeFault(authentication, verified.error)
      const isSignatureUnverified = !verified.ok && verified.error === 'signature-unverified'
      throw createInvalidClientProblem(
        isSignatureUnverified && !isTokenRequest ? `${detail} ${TOKEN_REQUEST_HINT}` : detail,
      )
    }
    ctx.state[DOCUMENT_EXPIRES_AT] = client.documentExpiresAt
    const credentialVersion = verified.value.credentialVersion ?? client.credentialVersion
    return { ...identifyClient(id), scopes: new Set(client.scopes), credentialVersion }
  }

  /**
   * Counts a failed authentication.
   *
   * @throws {Problem} `rate-limited` over the limit
   */
  async function countFailure(ctx: Context, clientId: string): Promise<void> {
    const [callerNetwork] = listNetworks(String(ctx.state['address']))
    enforceLimits(
      ctx,
      await deps.limiter.take(FAILED_AUTHENTICATION_LIMIT, `${callerNetwork?.network}\n${clientId}`),
    )
  }

  function describeFault(authentication: ClientAuthentication, fault: CredentialFault) {
    if (authentication.method === 'secret' || fault === 'secret') return undefined
    const { assertion } = authentication
    return describeAssertionFault(fault, {
      issuer,
      hasKid: assertion.ok && assertion.value.header.kid !== undefined,
    })
  }
}

/** Describes the mistake if a URL was sent with a secret, or is not a valid client id; otherwise undefined. */
function findUrlMistake(
  authentication: ClientAuthentication,
  clientId: string,
  isValidId: boolean,
): string | undefined {
  // Basic credentials are split at the first colon, so only the scheme remains of an unencoded URL (RFC 6749 appendix B).
  const isUrl =
    /^https?:/i.test(clientId) || (/^https?$/i.test(clientId) && authentication.method === 'secret')
  if (!isUrl) return undefined
  if (authentication.method === 'secret') return NO_SECRET_DETAIL
  return isValidId ? undefined : NOT_CANONICAL_DETAIL
}

const NO_SECRET_DETAIL =
  'A client known by a URL has no secret. Send a client_assertion, signed with a key of the document at the URL.'
const NOT_CANONICAL_DETAIL =
  'A client_id that is a URL begins with https://, has a path and no fragment, is written as URL parsers write it (lower-case ' +
  'host, no default port, no dot segments), and has at most 255 characters.'
const TOKEN_REQUEST_HINT = 'A client known by a URL begins with a token request.'

const INVALID_REQUEST_DETAILS: Partial<Record<AuthenticationFault, string>> = {
  several: 'Authenticate in one way only: HTTP Basic, form fields or a client assertion.',
  mismatch: 'The client_id in the body is not the client_id of the credentials.',
  'assertion-type': `Send client_assertion with client_assertion_type=${CLIENT_ASSERTION_TYPE}`,
  'assertion-location':
    'This endpoint takes a form: send the assertion as the form field client_assertion, not in a header.',
}

/** Creates the problem for a request whose credentials cannot be read. */
function createRequestProblem(fault: AuthenticationFault, { hasForm }: { hasForm: boolean }): Problem {
  const detail = INVALID_REQUEST_DETAILS[fault]
  if (detail) return new Problem('invalid-request', { detail })
  if (fault === 'malformed') return createInvalidClientProblem(MALFORMED_DETAIL)
  return createInvalidClientProblem(hasForm ? NO_CREDENTIALS_IN_FORM_DETAIL : NO_CREDENTIALS_DETAIL)
}

const MALFORMED_DETAIL =
  'The Authorization header is not Basic followed by base64 of client_id:client_secret.'
const NO_CREDENTIALS_IN_FORM_DETAIL =
  'Send client_id and client_secret with HTTP Basic or as form fields, or send a client_assertion with its type.'
const NO_CREDENTIALS_DETAIL =
  'Send client_id and client_secret with HTTP Basic, or a client assertion in the header Client-Assertion.'
