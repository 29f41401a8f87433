/*
 * The client-authentication layer: every endpoint that takes client credentials uses it, before oidc-provider sees the
 * request. Reading credentials from the request is `read-credentials.ts`; verifying assertions is `client-assertion.ts`.
 */
import { AgentId, err, ok, type Result } from '@plainpath/domain'
import {
  addressNetworks,
  type Caller,
  headersNamed,
  type Limiter,
  Problem,
  spendLimits,
} from '@plainpath/http'
import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { equalBytes, type HashKey } from '@plainpath/sealing'
import type { Context } from 'koa'
import type { AgentRecord } from '../agents/agent-repository.ts'
import { isAccepted } from '../agents/agent-secret.ts'
import { identifyClient } from '../agents/proven-facts.ts'
import { isUrlClient } from '../agents/refresh-document.ts'
import { FAILED_AUTHENTICATION } from '../limits.ts'
import { assertionVerifier, validateClaims } from './client-assertion.ts'
import { type AssertionFault, describeAssertionFault } from './describe-assertion-fault.ts'
import { BASIC_CHALLENGE, invalidClient } from './invalid-client.ts'
import type { Provable, UseAssertion } from './provable.ts'
import {
  type AuthenticationFault,
  type ClientAuthentication,
  readClientAuthentication,
} from './read-credentials.ts'
import type { FindUrlClient } from './url-clients.ts'
import type { UsedJtiStore } from './used-jti-store.ts'

type CredentialFault = AssertionFault | 'secret'

/** `generation` as in `UseAssertion`. */
type Proven = { readonly generation?: number | undefined }

export interface AuthenticateClientDeps {
  find(id: AgentId): Promise<AgentRecord | undefined>
  findExpired(id: AgentId): Promise<Provable | undefined>
  findUrlClient: FindUrlClient
  usedJtis: Pick<UsedJtiStore, 'use'>
  /** The only audience of client assertions. */
  issuer: string
  hashKey: HashKey
  limiter: Limiter
  now: () => Date
}

/** @param options.mayBegin true for a token request, with which a client that is known by its URL begins */
export type AuthenticateClient = (
  ctx: Context,
  form?: URLSearchParams,
  options?: { mayBegin?: boolean },
) => Promise<Caller>

/**
 * Member of `ctx.state`: the client's generation when it was authenticated. Its token gets the same, so that removing
 * the credential revokes the token even if that happens before the token is stored.
 */
export const CLIENT_GENERATION = 'clientGeneration'
/** Member of `ctx.state`: when the document of a URL client expires. Its token must not outlast it. */
export const DOCUMENT_EXPIRES_AT = 'clientDocumentExpiresAt'

/**
 * Creates the function that authenticates an agent from a request. An unknown, deleted or disabled client and wrong
 * credentials all get the same 401, after the same work; only a client that presents the secret or key of an expired
 * agent learns that it expired. Which mistakes in an assertion are named to whom: `describe-assertion-fault.ts`. Failures
 * are counted per address (IPv6 by /64) and client id: over the limit, further failures get 429, and correct credentials
 * still succeed.
 *
 * @throws {Problem} `invalid-client`, `client-expired`, `invalid-request` or `rate-limited`
 */
export function authenticateClient(deps: AuthenticateClientDeps): AuthenticateClient {
  const { hashKey, issuer, now } = deps
  const verifyAssertion = assertionVerifier(issuer)
  const useJti: UseAssertion = async (assertion) => ({ outcome: await deps.usedJtis.use(assertion) })
  const dummySecrets = [
    { digest: hashKey.hash('client-secret', 'no client has this secret'), keyId: hashKey.id },
  ]

  function hasSecret(client: Provable | undefined, secret: string): boolean {
    const digest = hashKey.hash('client-secret', secret)
    const matches = (client?.secrets.length ? client.secrets : dummySecrets).filter(
      (stored) => stored.keyId === hashKey.id && equalBytes(stored.digest, digest),
    )
    // A client has one authentication method: with keys registered, no secret counts (RFC 7591 §2). A connection of an app has
    // neither, and the dummy secret is no secret of it.
    return client?.keys.length === 0 && client.secrets.length > 0 && matches.length > 0
  }

  /** Verifies that the credentials are the client's. @param use marks an assertion as used */
  async function prove(
    presented: ClientAuthentication,
    client: Provable | undefined,
    use: UseAssertion,
  ): Promise<Result<Proven, CredentialFault>> {
    if (presented.method === 'secret')
      return hasSecret(client, presented.credentials.secret) ? ok({}) : err('secret')
    const { assertion } = presented
    const verified = assertion.ok ? await verifyAssertion(assertion.value, client, now()) : assertion
    if (!verified.ok) return verified
    const { outcome, generation } = await use(verified.value)
    if (outcome === 'accepted') return ok({ generation })
    return err(outcome === 'used' ? 'used' : 'unproven')
  }

  async function findRegistered(id: AgentId) {
    const client = await deps.find(id)
    const secrets = client?.secrets.filter((secret) => isAccepted(secret, now())) ?? []
    return { client, usable: client?.agent.status === 'active' ? { ...client.agent, secrets } : undefined }
  }

  return async (ctx, form, { mayBegin = false } = {}) => {
    const sent = {
      authorization: headersNamed(ctx.req, 'authorization'),
      clientAssertion: headersNamed(ctx.req, 'client-assertion'),
    }
    const read = readClientAuthentication(sent, form)
    if (!read.ok) throw faultProblem(read.error, { hasForm: form !== undefined })
    const presented = read.value
    const clientId = presented.method === 'secret' ? presented.credentials.clientId : presented.clientId
    const id = AgentId.safeParse(clientId)
    const mistake = findUrlMistake(presented, clientId, id.success)
    if (mistake !== undefined) throw invalidClient(mistake)
    if (id.success && isUrlClient(id.data)) return await authenticateUrl(ctx, presented, id.data, mayBegin)
    const { client, usable } = id.success ? await findRegistered(id.data) : {}
    const proven = await prove(presented, usable, useJti)
    if (!usable || !proven.ok) {
      // Read also for a known client, so that the response time does not reveal which ids exist.
      const reading = id.success ? deps.findExpired(id.data) : undefined
      // A known client has not expired, so a failure to read must not turn its 401 into a 503.
      const expired = await (client ? reading?.catch(() => undefined) : reading)
      // An expired client's assertion is not marked as used: it authorises nothing.
      const accept = async () => ({ outcome: 'accepted' as const })
      if (!client && expired && (await prove(presented, expired, accept)).ok)
        throw new Problem('client-expired', { headers: BASIC_CHALLENGE })
      await spendFailure(ctx, clientId)
      throw invalidClient(proven.ok ? undefined : describeFault(presented, proven.error))
    }
    ctx.state[CLIENT_GENERATION] = usable.generation
    return { ...identifyClient(usable.id), scopes: new Set(usable.scopes) }
  }

  /** The document is not fetched for an assertion whose content alone is wrong. */
  async function authenticateUrl(
    ctx: Context,
    presented: ClientAuthentication,
    id: AgentId,
    mayBegin: boolean,
  ): Promise<Caller> {
    const isSound =
      presented.method === 'assertion' &&
      presented.assertion.ok &&
      validateClaims(presented.assertion.value, { issuer, now: now() }).ok
    const client = isSound ? await deps.findUrlClient(ctx, id, { mayBegin }) : undefined
    const proven = await prove(presented, client, client?.use ?? useJti)
    if (!client || !proven.ok) {
      await spendFailure(ctx, id)
      const described = proven.ok ? undefined : describeFault(presented, proven.error)
      const isUnproven = !proven.ok && proven.error === 'unproven'
      throw invalidClient(isUnproven && !mayBegin ? `${described} ${BEGIN_WITH_TOKEN}` : described)
    }
    ctx.state[CLIENT_GENERATION] = proven.value.generation ?? client.generation
    ctx.state[DOCUMENT_EXPIRES_AT] = client.documentExpiresAt
    return { ...identifyClient(id), scopes: new Set(client.scopes) }
  }

  async function spendFailure(ctx: Context, clientId: string): Promise<void> {
    const [nearest] = addressNetworks(String(ctx.state['address']))
    spendLimits(ctx, await deps.limiter.take(FAILED_AUTHENTICATION, `${nearest?.network}\n${clientId}`))
  }

  function describeFault(presented: ClientAuthentication, fault: CredentialFault) {
    if (presented.method === 'secret' || fault === 'secret') return undefined
    const { assertion } = presented
    return describeAssertionFault(fault, {
      issuer,
      hasKid: assertion.ok && assertion.value.header.kid !== undefined,
    })
  }
}

/** Finds what is wrong with a URL as client id, whichever client it names. */
function findUrlMistake(
  presented: ClientAuthentication,
  clientId: string,
  isId: boolean,
): string | undefined {
  // A URL that is not encoded ends at its first colon: RFC 6749 appendix B has both parts encoded.
  const isUrl = /^https?:/i.test(clientId) || (/^https?$/i.test(clientId) && presented.method === 'secret')
  if (!isUrl) return undefined
  if (presented.method === 'secret') return NO_SECRET
  return isId ? undefined : NOT_CANONICAL
}

const NO_SECRET =
  'A client known by a URL has no secret. Send a client_assertion, signed with a key of the document at the URL.'
const NOT_CANONICAL =
  'A client_id that is a URL begins with https://, has a path and no fragment, is written as URL parsers write it (lower-case ' +
  'host, no default port, no dot segments), and has at most 255 characters.'
const BEGIN_WITH_TOKEN = 'A client known by a URL begins with a token request.'

const REFUSED: Partial<Record<AuthenticationFault, string>> = {
  several: 'Authenticate in one way only: HTTP Basic, form fields or a client assertion.',
  mismatch: 'The client_id in the body is not the client_id of the credentials.',
  'assertion-type': `Send client_assertion with client_assertion_type=${CLIENT_ASSERTION_TYPE}`,
  'assertion-place':
    'This endpoint takes a form: send the assertion as the form field client_assertion, not in a header.',
}

function faultProblem(fault: AuthenticationFault, { hasForm }: { hasForm: boolean }): Problem {
  const detail = REFUSED[fault]
  if (detail) return new Problem('invalid-request', { detail })
  if (fault === 'malformed') return invalidClient(MALFORMED)
  return invalidClient(hasForm ? NO_CREDENTIALS_IN_FORM : NO_CREDENTIALS)
}

const MALFORMED = 'The Authorization header is not Basic followed by base64 of client_id:client_secret.'
const NO_CREDENTIALS_IN_FORM =
  'Send client_id and client_secret with HTTP Basic or as form fields, or send a client_assertion with its type.'
const NO_CREDENTIALS =
  'Send client_id and client_secret with HTTP Basic, or a client assertion in the header Client-Assertion.'
