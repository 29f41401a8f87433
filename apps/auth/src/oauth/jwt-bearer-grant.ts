import { AgentId, Scope, type StandingClaim } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { JWT_BEARER_GRANT, type ServiceUrls } from '@plainpath/metadata'
import type Provider from 'oidc-provider'
import { grantScope, requireProof, tokenSeconds } from './agent-token.ts'
import { proofChecks } from './override-proofs.ts'

export interface JwtBearerDeps {
  urls: ServiceUrls
  /** @returns the claim for which an identity assertion of this client was issued; undefined for an invalid one */
  exchangeAssertion(assertion: string, clientId: AgentId): Promise<StandingClaim | undefined>
  now: () => Date
}

/**
 * Registers the grant of RFC 7523 §2.1 for identity assertions that this server issued. By then, `oauth-routes.ts` has
 * authenticated the client and checked `resource`, and the Provider has checked that the client may use the grant.
 *
 * The token uses the library's ClientCredentials model, which has no user account either. It carries its claim as
 * `registration_id`, and never outlasts it.
 */
export function registerJwtBearerGrant(provider: Provider, deps: JwtBearerDeps): void {
  const resource = deps.urls.base
  provider.registerGrantType<{ assertion?: string; scope?: string }>(
    JWT_BEARER_GRANT,
    async (ctx) => {
      const { client, params } = ctx.oidc
      requireProof(ctx, client)
      const checks = proofChecks(provider, ctx)
      const proof = await checks.validate()
      if (!params.assertion) throw new Problem('invalid-request', { detail: MISSING })
      const claim = await deps.exchangeAssertion(params.assertion, AgentId.parse(client.clientId))
      if (!claim) throw new Problem('invalid-grant', { detail: INVALID })
      const scope = grantScope(params.scope, Scope.options)
      if (!scope.ok)
        throw new Problem('invalid-scope', {
          detail: `This grant gives these scopes: ${Scope.options.join(' ')}.`,
        })
      const left = Math.floor((claim.expiresAt.getTime() - deps.now().getTime()) / 1000)
      if (left < 1) throw new Problem('invalid-grant', { detail: INVALID })
      const token = new provider.ClientCredentials({
        client,
        scope: scope.value,
        expiresIn: Math.min(tokenSeconds(ctx, deps.now()), left),
        extra: { registration_id: claim.id },
        resourceServer: new provider.ResourceServer(resource, {
          scope: Scope.options.join(' '),
          audience: resource,
          accessTokenFormat: 'opaque',
        }),
      })
      await checks.bind(token, proof)
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

const MISSING = 'Send the identity assertion as the form field assertion.'
const INVALID =
  'The identity assertion was not issued to this client, has expired, or its confirmation has expired or was revoked. Get another one ' +
  'with POST /api/agent/assertion. If that responds no_claim, do not ask the person again on your own.'
