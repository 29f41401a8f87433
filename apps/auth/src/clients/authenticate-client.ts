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
import {
  type AuthenticationFault,
  type ClientAuthentication,
  readClientAuthentication,
} from './read-credentials.ts'
import type { UsedJtiStore } from './used-jti-store.ts'

/** A client, active or expired, with the credentials that authenticate it. */
type Provable = Pick<ExpiredAgent, 'id' | 'keys' | 'secrets'>

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
 * agent learns that it expired. Failures are counted per address (IPv6 by /64) and client id: over the limit, further
 * failures get 429, and correct credentials still succeed.
 *
 * @throws {Problem} `invalid-client`, `client-expired`, `invalid-request` or `rate-limited`
 */
export function authenticateClient(deps: AuthenticateClientDeps): AuthenticateClient {
  const { hashKey, now } = deps
  const verifyAssertion = assertionVerifier(deps.issuer)
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
  /** @param use marks an assertion as used */
  async function verifyPresented(
    presented: ClientAuthentication,
    client: Provable | undefined,
    use: UsedJtiStore['use'],
  ): Promise<boolean> {
    if (presented.method === 'secret') return hasSecret(client, presented.credentials.secret)
    const verified = presented.assertion && (await verifyAssertion(presented.assertion, client, now()))
    return verified !== undefined && (await use(verified))
  }

  return async (ctx, form) => {
    const sent = {
      authorization: headersNamed(ctx.req, 'authorization'),
      clientAssertion: headersNamed(ctx.req, 'client-assertion'),
    }
    const read = readClientAuthentication(sent, form)
    if (!read.ok) throw faultProblem(read.error)
    const presented = read.value
    const clientId = presented.method === 'secret' ? presented.credentials.clientId : presented.clientId
    const id = AgentId.safeParse(clientId)
    const client = id.success ? await deps.find(id.data) : undefined
    const usable =
      client?.agent.status === 'active'
        ? { ...client.agent, secrets: client.secrets.filter((secret) => isAccepted(secret, now())) }
        : undefined
    const isProven = await verifyPresented(presented, usable, deps.usedJtis.use)
    if (!usable || !isProven) {
      // Read also for a known client, so that the response time does not reveal which ids exist.
      const reading = id.success ? deps.findExpired(id.data) : undefined
      // A known client has not expired, so a failure to read must not turn its 401 into a 503.
      const expired = await (client ? reading?.catch(() => undefined) : reading)
      // An expired client's assertion is not marked as used: it authorises nothing.
      if (!client && expired && (await verifyPresented(presented, expired, async () => true)))
        throw new Problem('client-expired', { headers: BASIC_CHALLENGE })
      const [nearest] = addressNetworks(String(ctx.state['address']))
      spendLimits(ctx, await deps.limiter.take(FAILED_AUTHENTICATION, `${nearest?.network}\n${clientId}`))
      throw invalidClient()
    }
    ctx.state[CLIENT_GENERATION] = usable.generation
    return { clientId: usable.id, scopes: new Set(usable.scopes) }
  }
}

export const invalidClient = (detail?: string) =>
  new Problem('invalid-client', { ...(detail && { detail }), headers: BASIC_CHALLENGE })

const CHALLENGED: Partial<Record<AuthenticationFault, string>> = {
  none: 'Send client_id and client_secret with HTTP Basic, or as form fields of the body.',
  malformed: 'The Authorization header is not "Basic" followed by base64 of client_id:client_secret.',
}

const REFUSED: Partial<Record<AuthenticationFault, string>> = {
  several: 'Authenticate in one way only: HTTP Basic, form fields or a client assertion.',
  mismatch: 'client_id in the body is not the one that the credentials are of.',
  'assertion-type': `Send client_assertion with client_assertion_type=${CLIENT_ASSERTION_TYPE}`,
  'assertion-place': 'Send the assertion as the form field client_assertion here, not in a header.',
}

function faultProblem(fault: AuthenticationFault): Problem {
  const detail = REFUSED[fault]
  return detail ? new Problem('invalid-request', { detail }) : invalidClient(CHALLENGED[fault])
}
