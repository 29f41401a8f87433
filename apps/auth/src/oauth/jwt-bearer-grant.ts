import { AgentId, Scope } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { JWT_BEARER_GRANT } from '@plainpath/metadata'
import type Provider from 'oidc-provider'
import type { ExchangeAssertion } from '../assertions/exchange-assertion.ts'
import { grantScope } from './grant-scope.ts'

export interface JwtBearerGrantDeps {
  exchangeAssertion: ExchangeAssertion
  /** The only resource that tokens are issued for. */
  resource: string
  tokenSeconds: number
  now: () => Date
}

/**
 * The grant of RFC 7523 §2.1 for our own identity assertions. The gate before the Provider has authenticated the client
 * and checked `resource`; the Provider has checked that the client may use the grant.
 *
 * The token is one of the library's ClientCredentials model, which has no person's account behind it either; the claim
 * goes with it as `registration_id`, and it never outlives the claim.
 */
export function registerJwtBearerGrant(provider: Provider, deps: JwtBearerGrantDeps): void {
  provider.registerGrantType<{ assertion?: string; scope?: string }>(
    JWT_BEARER_GRANT,
    async (ctx) => {
      const { client, params } = ctx.oidc
      if (!params.assertion) throw new Problem('invalid-request', { detail: MISSING })
      const claim = await deps.exchangeAssertion(params.assertion, AgentId.parse(client.clientId))
      if (!claim.ok) throw new Problem('invalid-grant', { detail: INVALID })
      const scope = grantScope(params.scope, Scope.options)
      if (!scope.ok)
        throw new Problem('invalid-scope', { detail: `This grant can give: ${Scope.options.join(' ')}.` })
      const { id: claimId, expiresAt } = claim.value
      const left = Math.floor((expiresAt.getTime() - deps.now().getTime()) / 1000)
      if (left < 1) throw new Problem('invalid-grant', { detail: INVALID })
      const token = new provider.ClientCredentials({
        client,
        scope: scope.value,
        expiresIn: Math.min(deps.tokenSeconds, left),
        extra: { registration_id: claimId },
        resourceServer: new provider.ResourceServer(deps.resource, {
          scope: Scope.options.join(' '),
          audience: deps.resource,
          accessTokenFormat: 'opaque',
        }),
      })
      ctx.oidc.entity('ClientCredentials', token)
      ctx.body = {
        access_token: await token.save(),
        expires_in: token.expiration,
        token_type: token.tokenType,
        scope: token.scope,
      }
    },
    ['assertion', 'scope', 'resource'],
    ['resource'],
  )
}

const MISSING = 'Send the identity assertion as the parameter assertion.'
const INVALID =
  'The assertion is not one of ours for this client, or it or its claim has ended. Get another with POST /api/agent/assertion, ' +
  'or ask the person again with POST /api/agent/claim.'
