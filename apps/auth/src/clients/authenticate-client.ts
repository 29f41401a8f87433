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

/** What proves a client: a secret, a key, or nothing any more. */
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
 * Of `ctx.state`: the generation under which the client was authenticated. Its token has the same, so that a token ends with
 * the credential that it was got with, also when that goes before the token is stored.
 */
export const CLIENT_GENERATION = 'clientGeneration'

/** RFC 6749 §5.2 asks for it when the header was used, RFC 9110 §11.6.1 in every 401. */
export const BASIC_CHALLENGE = { 'www-authenticate': 'Basic realm="plainpath", charset="UTF-8"' }

/**
 * Authenticates an agent, for every endpoint that asks for client credentials. An unknown, wrong, deleted or disabled
 * client is one identical 401, after the same work; only who shows the secret or key of an expired one is told so.
 * Failures are counted per address (IPv6 by /64) and client id; once there are too many, further failures (never a right
 * secret) are 429.
 *
 * @throws {Problem} `invalid-client`, `client-expired`, `invalid-request` or `rate-limited`
 */
export function authenticateClient(deps: AuthenticateClientDeps): AuthenticateClient {
  const { hashKey, now } = deps
  const verifyAssertion = assertionVerifier(deps.issuer)
  const nobody = [{ digest: hashKey.hash('client-secret', 'no client has this secret'), keyId: hashKey.id }]

  function hasSecret(client: Provable | undefined, secret: string): boolean {
    const digest = hashKey.hash('client-secret', secret)
    const matches = (client?.secrets.length ? client.secrets : nobody).filter(
      (kept) => kept.keyId === hashKey.id && equalBytes(kept.digest, digest),
    )
    // One way for each client: beside keys a secret is none (RFC 7591 §2).
    return client?.keys.length === 0 && matches.length > 0
  }
  /** @param use uses an assertion up */
  async function provesItself(
    shown: ClientAuthentication,
    client: Provable | undefined,
    use: UsedJtiStore['use'],
  ): Promise<boolean> {
    if (shown.method === 'secret') return hasSecret(client, shown.credentials.secret)
    const verified = shown.assertion && (await verifyAssertion(shown.assertion, client, now()))
    return verified !== undefined && (await use(verified))
  }

  return async (ctx, form) => {
    const sent = {
      authorization: headersNamed(ctx.req, 'authorization'),
      clientAssertion: headersNamed(ctx.req, 'client-assertion'),
    }
    const read = readClientAuthentication(sent, form)
    if (!read.ok) throw faultProblem(read.error)
    const shown = read.value
    const clientId = shown.method === 'secret' ? shown.credentials.clientId : shown.clientId
    const id = AgentId.safeParse(clientId)
    const client = id.success ? await deps.find(id.data) : undefined
    const usable =
      client?.agent.status === 'active'
        ? { ...client.agent, secrets: client.secrets.filter((secret) => isAccepted(secret, now())) }
        : undefined
    const isProven = await provesItself(shown, usable, deps.usedJtis.use)
    if (!usable || !isProven) {
      // Asked for whoever it is, so that an id that is known takes no other time than one that is not.
      const looking = id.success ? deps.findExpired(id.data) : undefined
      // One that is known has not expired, and what is wrong stays wrong while the store is away.
      const expired = await (client ? looking?.catch(() => undefined) : looking)
      // One that has expired can use nothing up.
      if (!client && expired && (await provesItself(shown, expired, async () => true)))
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
