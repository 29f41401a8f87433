import { AgentId } from '@plainpath/domain'
import {
  addressNetworks,
  type Caller,
  type Limiter,
  type LimitPolicy,
  Problem,
  spendLimits,
} from '@plainpath/http'
import { equalBytes, type HashKey } from '@plainpath/sealing'
import type { Context } from 'koa'
import { type ClientCredentials, type CredentialsFault, readCredentials } from './read-credentials.ts'

/** What authentication needs to know of a client; the agents' cache gives it. */
export interface KnownClient {
  readonly agent: { readonly id: string; readonly status: string; readonly scopes: readonly string[] }
  readonly secrets: readonly {
    readonly digest: Buffer
    readonly keyId: string
    readonly endsAt: Date | undefined
  }[]
}

export interface AuthenticateClientDeps {
  find(id: AgentId): Promise<KnownClient | undefined>
  hashKey: HashKey
  limiter: Limiter
  failures: LimitPolicy
  now: () => Date
}

/** The client, and the credentials by which it was known. */
export type AuthenticateClient = (
  ctx: Context,
  form?: URLSearchParams,
) => Promise<{ caller: Caller; credentials: ClientCredentials }>

/** RFC 6749 §5.2 asks for it when the header was used, RFC 9110 §11.6.1 in every 401. */
export const BASIC_CHALLENGE = { 'www-authenticate': 'Basic realm="plainpath", charset="UTF-8"' }

/**
 * Authenticates an agent, for every endpoint that asks for client credentials. An unknown, wrong, deleted or disabled
 * client is one identical 401, after the same work. Failures are counted per address (IPv6 by /64) and client id; once
 * there are too many, further failures (never a right secret) are 429.
 *
 * @throws {Problem} `invalid-client`, `invalid-request` or `rate-limited`
 */
export function authenticateClient(deps: AuthenticateClientDeps): AuthenticateClient {
  const nobody = [
    {
      digest: deps.hashKey.hash('client-secret', 'no client has this secret'),
      keyId: deps.hashKey.id,
      endsAt: undefined,
    },
  ]

  return async (ctx, form) => {
    const read = readCredentials(authorizationHeaders(ctx), form)
    if (!read.ok) throw faultProblem(read.error)
    const { clientId, secret } = read.value
    const id = AgentId.safeParse(clientId)
    const client = id.success ? await deps.find(id.data) : undefined
    const usable = client?.agent.status === 'active' ? client : undefined
    const digest = deps.hashKey.hash('client-secret', secret)
    const now = deps.now()
    const matches = (usable?.secrets.length ? usable.secrets : nobody).filter(
      (kept) =>
        kept.keyId === deps.hashKey.id &&
        (!kept.endsAt || kept.endsAt > now) &&
        equalBytes(kept.digest, digest),
    )
    if (!usable || matches.length === 0) {
      const [nearest] = addressNetworks(String(ctx.state['address']))
      spendLimits(ctx, await deps.limiter.take(deps.failures, `${nearest?.network}\n${clientId}`))
      throw invalidClient()
    }
    const caller = { clientId: usable.agent.id, scopes: new Set(usable.agent.scopes) }
    return { caller, credentials: read.value }
  }
}

export const authorizationHeaders = (ctx: Context): string[] =>
  ctx.req.rawHeaders.filter(
    (_value, index) => index % 2 === 1 && ctx.req.rawHeaders[index - 1]?.toLowerCase() === 'authorization',
  )

export const invalidClient = (detail?: string) =>
  new Problem('invalid-client', { ...(detail && { detail }), headers: BASIC_CHALLENGE })

const FAULTS: Record<Exclude<CredentialsFault, 'several' | 'mismatch'>, string> = {
  none: 'Send client_id and client_secret with HTTP Basic, or as form fields of the body.',
  malformed: 'The Authorization header is not "Basic" followed by base64 of client_id:client_secret.',
}

export function faultProblem(fault: CredentialsFault): Problem {
  if (fault === 'several')
    return new Problem('invalid-request', {
      detail: 'Authenticate in one way only: HTTP Basic or form fields.',
    })
  if (fault === 'mismatch')
    return new Problem('invalid-request', {
      detail: 'client_id in the body is not the one in the Authorization header.',
    })
  return invalidClient(FAULTS[fault])
}
