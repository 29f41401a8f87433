/*
 * The grants of agents at the token endpoint: `client_credentials` (RFC 6749 §4.4), and `jwt-bearer` (RFC 7523 §2.1) with an
 * identity assertion that this server issued. `oauth-routes.ts` has authenticated the agent, counted the request and checked
 * `resource`. oidc-provider serves the grants of apps.
 */
import { type Agent, type AgentId, type LiveVerification, Scope } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import {
  AGENT_GRANT_TYPES,
  APP_GRANT_TYPES,
  JWT_BEARER_GRANT_TYPE,
  type ServiceUrls,
} from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import type { Context } from 'koa'
import type Provider from 'oidc-provider'
import type { AgentRecord } from '../agents/agent-store.ts'
import type { UsageRecorder } from '../agents/usage-recorder.ts'
import type { AuthenticatedAgent } from '../clients/credential-version.ts'
import { createInvalidClientProblem } from '../clients/invalid-client.ts'
import type { AuthEvents } from '../events.ts'
import type { NewToken, TokenStore } from '../tokens/token-store.ts'
import { generateAccessToken } from './access-token.ts'
import { computeTokenSeconds, grantScope, readRequestedScope, requireProof } from './agent-token-rules.ts'
import { consumeProof, validateProof } from './override-proofs.ts'

export interface AgentTokenDeps {
  /** Checks DPoP proofs. */
  readonly provider: Provider
  readonly urls: Pick<ServiceUrls, 'base' | 'claim' | 'authVerifiedEmail'>
  readonly tokens: Pick<TokenStore, 'save'>
  /** Finds an agent, through the cache of this process. */
  readonly findAgent: (id: AgentId) => Promise<AgentRecord | undefined>
  readonly usage: Pick<UsageRecorder, 'recordUse'>
  readonly events: AuthEvents
  /**
   * Sets the lock on `contact:write`: see `contact-binding.ts`.
   *
   * @returns the credential version for the token
   */
  readonly bindContact: (id: AgentId, credentialVersion: number) => Promise<number>
  /** Verifies an identity assertion, and returns its e-mail verification; undefined for an invalid assertion. */
  readonly verifyPresentedAssertion: (
    assertion: string,
    clientId: AgentId,
  ) => Promise<LiveVerification | undefined>
  readonly now: () => Date
}

/** A successful token response (RFC 6749 §5.1). */
interface TokenResponse {
  readonly access_token: string
  readonly token_type: 'Bearer' | 'DPoP'
  /** In seconds. */
  readonly expires_in: number
  readonly scope: string
}

/**
 * Issues a token to an authenticated agent.
 *
 * @param agent the agent with the credential version under which it was authenticated. The token gets this version, not the
 *   current one, so a token that is saved after a credential was removed is already revoked
 * @throws {Problem} with an error of the token endpoint
 */
export type IssueAgentToken = (
  ctx: Context,
  form: URLSearchParams,
  agent: AuthenticatedAgent,
) => Promise<TokenResponse>

/** The properties of a token that depend on the grant. */
interface Grant {
  readonly scope: string
  readonly lifetimeSeconds: number
  /** The verification on which the token depends, if any. */
  readonly verificationId?: LiveVerification['id']
}

export function createAgentTokenIssuer(deps: AgentTokenDeps): IssueAgentToken {
  return async (ctx, form, { id, credentialVersion }) => {
    const grantType = requireAgentGrant(form)
    const agent = await requireActiveAgent(deps, id)
    const requestedScope = readRequestedScope(form)
    requireProof(ctx, agent)
    const proof = await validateProof(deps.provider, ctx)
    // Read before the grant computes the lifetime, so that the token never expires after the document or verification.
    const issuedAtSeconds = Math.floor(deps.now().getTime() / 1000)
    const { scope, lifetimeSeconds, verificationId } =
      grantType === JWT_BEARER_GRANT_TYPE
        ? await grantForAssertion(ctx, deps, { assertion: form.get('assertion'), requestedScope, id })
        : grantForCredentials(ctx, deps, { agent, requestedScope })
    if (proof) await consumeProof(deps.provider, ctx, proof, id)
    const jkt = proof?.thumbprint
    const accessToken = await mintToken(deps, {
      clientId: id,
      credentialVersion,
      scope,
      audience: deps.urls.base,
      issuedAt: new Date(issuedAtSeconds * 1000),
      expiresAt: new Date((issuedAtSeconds + lifetimeSeconds) * 1000),
      verificationId,
      ...(jkt !== undefined && { jkt }),
    })
    return {
      access_token: accessToken,
      token_type: jkt === undefined ? 'Bearer' : 'DPoP',
      expires_in: lifetimeSeconds,
      scope,
    }
  }
}

/** @throws {Problem} `invalid-request`, `unauthorized-client` for a grant of apps, or `unsupported-grant-type` */
function requireAgentGrant(form: URLSearchParams): string {
  const grantType = form.get('grant_type')
  if (!grantType) throw new Problem('invalid-request', { detail: 'Send grant_type=client_credentials.' })
  if (APP_GRANT_TYPES.includes(grantType)) throw new Problem('unauthorized-client')
  if (!AGENT_GRANT_TYPES.includes(grantType)) throw new Problem('unsupported-grant-type')
  return grantType
}

/** @throws {Problem} `invalid-client` if the agent was deactivated after it was authenticated */
async function requireActiveAgent({ findAgent }: Pick<AgentTokenDeps, 'findAgent'>, id: AgentId) {
  const agent = (await findAgent(id))?.agent
  if (agent?.status !== 'active') throw createInvalidClientProblem()
  return agent
}

function grantForCredentials(
  ctx: Context,
  { urls, now }: AgentTokenDeps,
  { agent, requestedScope }: { agent: Pick<Agent, 'scopes'>; requestedScope: string | undefined },
): Grant {
  const allowed = Scope.options.filter((scope) => agent.scopes.includes(scope))
  const scope = grantScope(requestedScope, allowed)
  if (!scope.ok) throw new Problem('invalid-scope', { detail: formatNoScopeDetail(allowed, urls) })
  return { scope: scope.value, lifetimeSeconds: computeTokenSeconds(ctx, now()) }
}

/** Formats the detail for a client that is allowed none of the requested scopes. */
const formatNoScopeDetail = (allowed: readonly Scope[], urls: AgentTokenDeps['urls']) =>
  `This client can have: ${allowed.join(' ')}. The grant client_credentials never gives contact:write. ` +
  'For that scope, a person must first confirm the client by e-mail. ' +
  `Begin with POST ${urls.claim}; the steps are in ${urls.authVerifiedEmail}.`

/**
 * Grants the requested scopes, or all scopes by default, to an agent that presents an identity assertion. No scope is excluded.
 * The token expires no later than the verification.
 *
 * @throws {Problem} `invalid-request`, `invalid-grant`, `invalid-scope` or `invalid-client`
 */
async function grantForAssertion(
  ctx: Context,
  { verifyPresentedAssertion, now }: AgentTokenDeps,
  request: { assertion: string | null; requestedScope: string | undefined; id: AgentId },
): Promise<Grant> {
  const { assertion, requestedScope, id } = request
  if (!assertion) throw new Problem('invalid-request', { detail: MISSING_ASSERTION_DETAIL })
  const verification = await verifyPresentedAssertion(assertion, id)
  if (!verification) throw new Problem('invalid-grant', { detail: INVALID_ASSERTION_DETAIL })
  const scope = grantScope(requestedScope, Scope.options)
  if (!scope.ok)
    throw new Problem('invalid-scope', {
      detail: `This grant gives these scopes: ${Scope.options.join(' ')}.`,
    })
  const remainingSeconds = Math.floor((verification.expiresAt.getTime() - now().getTime()) / 1000)
  if (remainingSeconds < 1) throw new Problem('invalid-grant', { detail: INVALID_ASSERTION_DETAIL })
  return {
    scope: scope.value,
    lifetimeSeconds: Math.min(computeTokenSeconds(ctx, now()), remainingSeconds),
    verificationId: verification.id,
  }
}

const MISSING_ASSERTION_DETAIL = 'Send the identity assertion as the form field assertion.'
const INVALID_ASSERTION_DETAIL =
  'The identity assertion was not issued to this client, has expired, or its confirmation has expired or was revoked. Get another one ' +
  'with POST /api/agent/assertion. If that responds no_claim, do not ask the person again on your own.'

/**
 * Generates a token and saves it, by its SHA-256 only. Before that, checks that the agent is still active and that its lock on
 * `contact:write` permits the token, and records that the agent was used. A bound token for `contact:write` sets that lock.
 *
 * @throws {Problem} `invalid-client` or `dpop-proof-required`
 */
async function mintToken(deps: AgentTokenDeps, token: NewToken): Promise<string> {
  const { clientId, credentialVersion, scope, jkt } = token
  // Read again: the agent may have been deactivated, or its lock set, while the proof and the assertion were checked.
  const agent = await requireActiveAgent(deps, clientId)
  const scopes = scope.split(' ')
  const includesContact = scopes.includes('contact:write')
  if (includesContact && jkt === undefined && agent.contactBoundSince !== undefined)
    throw new Problem('dpop-proof-required', { detail: CONTACT_IS_BOUND_DETAIL })
  if (!(await deps.usage.recordUse(clientId))) throw createInvalidClientProblem()
  const accessToken = generateAccessToken()
  await deps.tokens.save(sha256(accessToken), {
    ...token,
    credentialVersion:
      includesContact && jkt !== undefined
        ? await deps.bindContact(clientId, credentialVersion)
        : credentialVersion,
  })
  deps.events.emit('token-issued', { scopes })
  return accessToken
}

const CONTACT_IS_BOUND_DETAIL =
  'This client got a token for contact:write that is bound to a key, so that scope needs a DPoP proof. ' +
  'Send one, request other scopes, or allow it without a proof by DELETE /api/agent/dpop-required-scopes.'
