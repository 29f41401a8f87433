import { AgentId, type AgentKey } from '@plainpath/domain'
import {
  addressNetworks,
  type Caller,
  headersNamed,
  type Limiter,
  type LimitPolicy,
  Problem,
  spendLimits,
} from '@plainpath/http'
import { CLIENT_ASSERTION_TYPE } from '@plainpath/metadata'
import { equalBytes, type HashKey } from '@plainpath/sealing'
import type { Context } from 'koa'
import {
  type AuthenticationFault,
  type ClientAuthentication,
  readClientAuthentication,
} from './read-client-authentication.ts'
import type { VerifyAssertion } from './verify-assertion.ts'

/** What authentication needs to know of a client; the agents' cache gives it. */
export interface KnownClient {
  readonly agent: {
    readonly id: AgentId
    readonly status: string
    readonly scopes: readonly string[]
    readonly keys: readonly AgentKey[]
  }
  readonly secrets: readonly {
    readonly digest: Buffer
    readonly keyId: string
    readonly endsAt: Date | undefined
  }[]
}

/** What is left of a client that was not used. */
export interface ExpiredClient {
  readonly id: AgentId
  readonly keys: readonly AgentKey[]
  readonly secrets: readonly { readonly digest: Buffer; readonly keyId: string }[]
}

export interface AuthenticateClientDeps {
  find(id: AgentId): Promise<KnownClient | undefined>
  findExpired(id: AgentId): Promise<ExpiredClient | undefined>
  hashKey: HashKey
  verifyAssertion: VerifyAssertion
  /** The same for a client that expired, which can use nothing up. */
  recogniseAssertion: VerifyAssertion
  limiter: Limiter
  failures: LimitPolicy
  now: () => Date
}

export type AuthenticateClient = (ctx: Context, form?: URLSearchParams) => Promise<Caller>

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
  const nobody = [
    { digest: deps.hashKey.hash('client-secret', 'no client has this secret'), keyId: deps.hashKey.id },
  ]

  const hasSecret = (
    client: Pick<ExpiredClient, 'keys' | 'secrets'> | undefined,
    secret: string,
  ): boolean => {
    const digest = deps.hashKey.hash('client-secret', secret)
    const matches = (client?.secrets.length ? client.secrets : nobody).filter(
      (kept) => kept.keyId === deps.hashKey.id && equalBytes(kept.digest, digest),
    )
    // One way for each client: beside keys a secret is none (RFC 7591 §2).
    return client?.keys.length === 0 && matches.length > 0
  }
  const provesItself = async (
    shown: ClientAuthentication,
    client: ExpiredClient | undefined,
    verify: VerifyAssertion,
  ): Promise<boolean> =>
    shown.method === 'secret'
      ? hasSecret(client, shown.credentials.secret)
      : shown.assertion !== undefined && (await verify(shown.assertion, client))
  const usableOf = (known: KnownClient | undefined): (ExpiredClient & KnownClient['agent']) | undefined =>
    known?.agent.status === 'active'
      ? { ...known.agent, secrets: known.secrets.filter(({ endsAt }) => !endsAt || endsAt > deps.now()) }
      : undefined

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
    const usable = usableOf(client)
    const isProven = await provesItself(shown, usable, deps.verifyAssertion)
    if (!usable || !isProven) {
      // Asked for whoever it is, so that an id that is known takes no other time than one that is not.
      const looking = id.success ? deps.findExpired(id.data) : undefined
      // One that is known has not expired, and what is wrong stays wrong while the store is away.
      const expired = await (client ? looking?.catch(() => undefined) : looking)
      if (!client && expired && (await provesItself(shown, expired, deps.recogniseAssertion)))
        throw clientExpired()
      const [nearest] = addressNetworks(String(ctx.state['address']))
      spendLimits(ctx, await deps.limiter.take(deps.failures, `${nearest?.network}\n${clientId}`))
      throw invalidClient()
    }
    return { clientId: usable.id, scopes: new Set(usable.scopes) }
  }
}

const clientExpired = () => new Problem('client-expired', { headers: BASIC_CHALLENGE })

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
