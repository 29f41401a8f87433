/*
 * The client-authentication layer: every endpoint that takes client credentials uses it, before oidc-provider sees the
 * request. Reading credentials from the request is `read-credentials.ts`; verifying assertions is `client-assertion.ts`.
 */
import { AgentId } from '@plainpath/domain'
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
import type { ExpiredAgent } from '../agents/agent-expiry.ts'
import type { AgentRecord } from '../agents/agent-repository.ts'
import { isAccepted } from '../agents/agent-secret.ts'
import { FAILED_AUTHENTICATION } from '../limits.ts'
import { assertionVerifier } from './client-assertion.ts'
import { type AssertionFault, describeAssertionFault } from './describe-assertion-fault.ts'
import {
  type AuthenticationFault,
  type ClientAuthentication,
  readClientAuthentication,
} from './read-credentials.ts'
import type { UsedJtiStore } from './used-jti-store.ts'

/** A client, active or expired, with the credentials that authenticate it. */
type Provable = Pick<ExpiredAgent, 'id' | 'keys' | 'secrets'>

type CredentialFault = AssertionFault | 'secret'

export interface AuthenticateClientDeps {
  find(id: AgentId): Promise<AgentRecord | undefined>
  findExpired(id: AgentId): Promise<Provable | undefined>
  usedJtis: Pick<UsedJtiStore, 'use'>
  /** The only audience of client assertions. */
  issuer: string
  hashKey: HashKey
  limiter: Limiter
  now: () => Date
}

export type AuthenticateClient = (ctx: Context, form?: URLSearchParams) => Promise<Caller>

/**
 * Member of `ctx.state`: the client's generation when it was authenticated. Its token gets the same, so that removing
 * the credential revokes the token even if that happens before the token is stored.
 */
export const CLIENT_GENERATION = 'clientGeneration'

/** RFC 6749 §5.2 requires it when the client used the header, RFC 9110 §11.6.1 in every 401. */
export const BASIC_CHALLENGE = { 'www-authenticate': 'Basic realm="plainpath", charset="UTF-8"' }

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
  const dummySecrets = [
    { digest: hashKey.hash('client-secret', 'no client has this secret'), keyId: hashKey.id },
  ]

  function hasSecret(client: Provable | undefined, secret: string): boolean {
    const digest = hashKey.hash('client-secret', secret)
    const matches = (client?.secrets.length ? client.secrets : dummySecrets).filter(
      (stored) => stored.keyId === hashKey.id && equalBytes(stored.digest, digest),
    )
    // A client has one authentication method: with keys registered, no secret counts (RFC 7591 §2).
    return client?.keys.length === 0 && matches.length > 0
  }

  /** @param use marks an assertion as used. @returns what is wrong; undefined when the credentials are the client's */
  async function findFault(
    presented: ClientAuthentication,
    client: Provable | undefined,
    use: UsedJtiStore['use'],
  ): Promise<CredentialFault | undefined> {
    if (presented.method === 'secret')
      return hasSecret(client, presented.credentials.secret) ? undefined : 'secret'
    const { assertion } = presented
    const verified = assertion.ok ? await verifyAssertion(assertion.value, client, now()) : assertion
    if (!verified.ok) return verified.error
    const outcome = await use(verified.value)
    if (outcome === 'accepted') return undefined
    return outcome === 'used' ? 'used' : 'unproven'
  }

  return async (ctx, form) => {
    const sent = {
      authorization: headersNamed(ctx.req, 'authorization'),
      clientAssertion: headersNamed(ctx.req, 'client-assertion'),
    }
    const read = readClientAuthentication(sent, form)
    if (!read.ok) throw faultProblem(read.error, { hasForm: form !== undefined })
    const presented = read.value
    const clientId = presented.method === 'secret' ? presented.credentials.clientId : presented.clientId
    const id = AgentId.safeParse(clientId)
    const client = id.success ? await deps.find(id.data) : undefined
    const usable =
      client?.agent.status === 'active'
        ? { ...client.agent, secrets: client.secrets.filter((secret) => isAccepted(secret, now())) }
        : undefined
    const fault = await findFault(presented, usable, deps.usedJtis.use)
    if (!usable || fault !== undefined) {
      // Read also for a known client, so that the response time does not reveal which ids exist.
      const reading = id.success ? deps.findExpired(id.data) : undefined
      // A known client has not expired, so a failure to read must not turn its 401 into a 503.
      const expired = await (client ? reading?.catch(() => undefined) : reading)
      // An expired client's assertion is not marked as used: it authorises nothing.
      const accept = async () => 'accepted' as const
      if (!client && expired && (await findFault(presented, expired, accept)) === undefined)
        throw new Problem('client-expired', { headers: BASIC_CHALLENGE })
      const [nearest] = addressNetworks(String(ctx.state['address']))
      spendLimits(ctx, await deps.limiter.take(FAILED_AUTHENTICATION, `${nearest?.network}\n${clientId}`))
      throw invalidClient(describeFault(presented, fault))
    }
    ctx.state[CLIENT_GENERATION] = usable.generation
    return { clientId: usable.id, scopes: new Set(usable.scopes) }
  }

  function describeFault(presented: ClientAuthentication, fault: CredentialFault | undefined) {
    if (presented.method === 'secret' || fault === undefined || fault === 'secret') return undefined
    const { assertion } = presented
    return describeAssertionFault(fault, {
      issuer,
      hasKid: assertion.ok && assertion.value.header.kid !== undefined,
    })
  }
}

export const invalidClient = (detail?: string) =>
  new Problem('invalid-client', { ...(detail && { detail }), headers: BASIC_CHALLENGE })

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
