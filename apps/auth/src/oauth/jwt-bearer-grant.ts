import { AgentId, Scope, type StandingVerification } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { JWT_BEARER_GRANT, type ServiceUrls } from '@plainpath/metadata'
import type Provider from 'oidc-provider'
import { computeTokenSeconds, grantScope, requireProof } from './agent-token.ts'
import { createProofChecks } from './override-proofs.ts'

export interface JwtBearerDeps {
  urls: ServiceUrls
  /** Verifies an identity assertion, and returns its e-mail verification; undefined for an invalid assertion. */
  verifyPresentedAssertion(assertion: string, clientId: AgentId): Promise<StandingVerification | undefined>
  now: () => Date
}

/**
 * Registers the grant of RFC 7523 §2.1 for identity assertions that this server issued. Before the grant runs, `oauth-routes.ts`
 * has authenticated the client and checked `resource`, and the Provider has checked that the client may use the grant.
 *
 * The token uses the library's ClientCredentials model, since it has no user account. It contains its verification as
 * `registration_id`, and expires no later than the verification.
 */
export function registerJwtBearerGrant(provider: Provider, deps: JwtBearerDeps): void {
  const resource = deps.urls.base
  provider.registerGrantType<{ assertion?: string; scope?: string }>(
    JWT_BEARER_GRANT,
    async (ctx) => {
      const { client, params } = ctx.oidc
      requireProof(ctx, client)
      const checks = createProofChecks(provider, ctx)
      const proof = await checks.validate()
      if (!params.assertion) throw new Problem('invalid-request', { detail: MISSING_DETAIL })
      const verification = await deps.verifyPresentedAssertion(
        params.assertion,
        AgentId.parse(client.clientId),
      )
      if (!verification) throw new Problem('invalid-grant', { detail: INVALID_DETAIL })
      const scope = grantScope(params.scope, Scope.options)
      if (!scope.ok)
        throw new Problem('invalid-scope', {
          detail: `This grant gives these scopes: ${Scope.options.join(' ')}.`,
        })
      const remainingSeconds = Math.floor((verification.expiresAt.getTime() - deps.now().getTime()) / 1000)
      if (remainingSeconds < 1) throw new Problem('invalid-grant', { detail: INVALID_DETAIL })
      const token = new provider.ClientCredentials({
        client,
        scope: scope.value,
        expiresIn: Math.min(computeTokenSeconds(ctx, deps.now()), remainingSeconds),
        extra: { registration_id: verification.id },
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

const MISSING_DETAIL = 'Send the identity assertion as the form field assertion.'
const INVALID_DETAIL =
  'The identity assertion was not issued to this client, has expired, or its confirmation has expired or was revoked. Get another one ' +
  'with POST /api/agent/assertion. If that responds no_claim, do not ask the person again on your own.'
