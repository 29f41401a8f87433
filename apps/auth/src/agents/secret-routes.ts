import { AgentId } from '@plainpath/domain'
import { defineRoute, type LimitPolicy, Problem, type Route } from '@plainpath/http'
import { operations } from '@plainpath/metadata'
import { describeSecrets } from './describe-agent.ts'
import type { AddSecret, EndSecret } from './rotate-secret.ts'

export interface SecretRouteDeps {
  addSecret: AddSecret
  endSecret: EndSecret
  /** For a client that ended after it was authenticated: the same answer as before that. */
  noSuchClient(): Problem
  limits: { manage: readonly LimitPolicy[]; client: readonly LimitPolicy[] }
}

/** `POST /api/agent/secrets`, `DELETE /api/agent/secrets/{id}`. */
export const secretRoutes = (deps: SecretRouteDeps): Route[] => [
  defineRoute({
    ...operations.createAgentSecret,
    limits: { address: deps.limits.manage, client: deps.limits.client },
    async handle({ caller }) {
      const id = AgentId.parse(caller.clientId)
      const result = await deps.addSecret(id)
      if (!result.ok) {
        if (result.error === 'ended') throw deps.noSuchClient()
        throw new Problem(result.error === 'has-keys' ? 'client-has-keys' : 'too-many-secrets')
      }
      const { secret, added, secrets } = result.value
      return {
        status: 201,
        body: {
          client_id: id,
          secret_id: added.id,
          client_secret: secret,
          client_secret_expires_at: 0,
          created_at: added.createdAt.toISOString(),
          secrets: describeSecrets(secrets),
        },
      }
    },
  }),
  defineRoute({
    ...operations.deleteAgentSecret,
    limits: { address: deps.limits.manage, client: deps.limits.client },
    async handle({ caller, params }) {
      const outcome = await deps.endSecret(AgentId.parse(caller.clientId), params.id)
      if (outcome === 'ended') throw deps.noSuchClient()
      if (outcome === 'last') throw new Problem('last-secret')
      if (outcome === 'unknown')
        throw new Problem('not-found', {
          detail: 'This client has no such secret. GET /api/agent lists those it has.',
        })
      return { status: 204 }
    },
  }),
]
