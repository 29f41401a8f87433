/*
 * The OAuth requests of apps that people connect: the authorization endpoint, its continuation after the sign-in pages, and
 * the parts of the token and revocation endpoints for apps. This module checks the app and its redirect URI; then oidc-provider
 * serves the request, unless it is a revocation, which this module serves itself.
 */
import { AgentId } from '@plainpath/domain'
import { type Limiter, Problem, type RawRoute } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import type { Context } from 'koa'
import type Provider from 'oidc-provider'
import { type AppClient, acceptsRedirectUri, type FindAppClient } from '../app-clients/app-client.ts'
import type { AuthenticateApp } from '../clients/app-authenticator.ts'
import { LIMITS } from '../limits.ts'
import type { Stores } from '../stores.ts'
import { REFRESH_TOKEN_PREFIX } from './access-token.ts'
import { findAppRequest, recordAppRequest } from './app-request.ts'
import { APP_SCOPE, OAUTH_PATHS } from './create-provider.ts'
import { requireToken } from './find-active-token.ts'
import { SIGN_IN_GONE_DETAIL } from './interactions.ts'
import { type InternalClientSecret, passBrowserToProvider, passToProvider } from './override-provider.ts'
import { revokeAccessToken } from './revoke-access-token.ts'

export interface AppRouteDeps {
  readonly provider: Provider
  readonly urls: ServiceUrls
  readonly findAppClient: FindAppClient
  readonly authenticateApp: AuthenticateApp
  readonly internalClientSecret: InternalClientSecret
  readonly stores: Pick<
    Stores,
    'agents' | 'agentCache' | 'connections' | 'oauthRecords' | 'tokens' | 'revocationPublisher'
  >
  readonly limiter: Limiter
  readonly now: () => Date
}

/** Creates the routes that a browser opens before and after the sign-in pages. */
export const createAppRoutes = (deps: AppRouteDeps): RawRoute[] => [
  {
    methods: ['GET'],
    path: OAUTH_PATHS.authorization,
    limits: LIMITS.pages,
    serve: (ctx) => serveAuthorization(ctx, deps),
  },
  {
    methods: ['GET'],
    path: `${OAUTH_PATHS.authorization}/{uid}`,
    limits: LIMITS.pages,
    serve: (ctx) => resumeAuthorization(ctx, deps),
  },
]

/** The parameters that are passed to the library unchanged. Others would request missing features, such as an ID token. */
const PASSED_PARAMETERS = [
  'client_id',
  'redirect_uri',
  'response_type',
  'state',
  'code_challenge',
  'code_challenge_method',
  'dpop_jkt',
]

/**
 * Begins a sign-in. If the app or the redirect URI is unacceptable, the response is a page, never a redirect. The library sends
 * its own errors to the app, with `iss`.
 */
async function serveAuthorization(ctx: Context, deps: AppRouteDeps): Promise<void> {
  if (respondToHead(ctx)) return
  const parameters = new URLSearchParams(ctx.querystring)
  const client = await requireClient(
    ctx,
    deps,
    parameters.getAll('client_id'),
    parameters.getAll('redirect_uri'),
  )
  const passedParameters = new URLSearchParams(
    [...parameters].filter(([name]) => PASSED_PARAMETERS.includes(name)),
  )
  // The library refuses any other resource, and reports that to the app.
  for (const resource of parameters.getAll('resource').filter(Boolean))
    passedParameters.append('resource', isOwnResource(resource, deps.urls) ? deps.urls.signedInMcp : resource)
  // Every app gets the same scope, whatever it requests, and the token response says so (RFC 6749 §3.3).
  passedParameters.set('scope', APP_SCOPE)
  // The person is always asked, so only the value of `prompt` that forbids this has an effect.
  if (parameters.getAll('prompt').includes('none')) passedParameters.set('prompt', 'none')
  // Modes with a self-submitting form would need a script. The library refuses the value `other`, and reports that in the query.
  if (parameters.has('response_mode') && parameters.get('response_mode') !== 'query')
    passedParameters.set('response_mode', 'other')
  recordAppRequest(ctx, client)
  await passBrowserToProvider(ctx, deps, passedParameters)
}

/** Continues after the sign-in pages: redirects to the app with a code, or with `access_denied`. */
async function resumeAuthorization(ctx: Context, deps: AppRouteDeps): Promise<void> {
  if (respondToHead(ctx)) return
  const { provider } = deps
  const uid = ctx.cookies.get(provider.cookieName('resume'))
  const isPathOfCookie = uid !== undefined && ctx.path === `${OAUTH_PATHS.authorization}/${uid}`
  const interaction = isPathOfCookie ? await provider.Interaction.find(uid) : undefined
  if (!interaction) throw new Problem('not-found', { detail: SIGN_IN_GONE_DETAIL })
  const { client_id: id, redirect_uri: redirectUri } = interaction.params
  // The app may have changed since the sign-in began.
  const client = await requireClient(ctx, deps, [String(id)], [String(redirectUri)])
  // The connection may have ended since the person allowed it.
  const agentId = interaction.result?.login?.accountId
  if (agentId !== undefined && !(await deps.stores.connections.find(agentId, deps.now()))) {
    interaction.result = { error: 'access_denied', error_description: 'the connection has ended' }
    await interaction.persist()
  }
  recordAppRequest(ctx, client)
  await passBrowserToProvider(ctx, deps, new URLSearchParams())
}

/**
 * Responds to a HEAD request. The router passes HEAD requests to GET routes. A scanner that sends HEAD must neither begin nor
 * finish a sign-in.
 *
 * @returns false, without a response, for another method
 */
function respondToHead(ctx: Context): boolean {
  if (ctx.method !== 'HEAD') return false
  ctx.status = 200
  ctx.body = ''
  return true
}

/**
 * Finds the app and checks its redirect URI.
 *
 * @param ids every value of `client_id` in the request
 * @param redirectUris every value of `redirect_uri` in the request
 * @throws {Problem} `invalid-request` unless both are sent once, the app is known, and the URI belongs to it
 */
async function requireClient(
  ctx: Context,
  { findAppClient }: Pick<AppRouteDeps, 'findAppClient'>,
  ids: readonly string[],
  redirectUris: readonly string[],
): Promise<AppClient> {
  const [id, anotherId] = ids
  const [redirectUri, anotherUri] = redirectUris
  if (!id || !redirectUri || anotherId !== undefined || anotherUri !== undefined)
    throw new Problem('invalid-request', { detail: NO_APP_DETAIL })
  const client = await findAppClient(ctx, id, redirectUri)
  if (!client) throw new Problem('invalid-request', { detail: UNKNOWN_APP_DETAIL })
  if (!acceptsRedirectUri(client, redirectUri))
    throw new Problem('invalid-request', { detail: OTHER_REDIRECT_URI_DETAIL })
  return client
}

const NO_APP_DETAIL =
  'This address is for apps that a person connects. The app must send client_id and redirect_uri, each once. Agents do not need it: they use client_credentials.'
const UNKNOWN_APP_DETAIL =
  'The app that sent you here is not known to us, so we did not go on. Remove this connection in the app, and add it again. If that does not help, the app is not supported.'
const OTHER_REDIRECT_URI_DETAIL =
  'The app asked us to send you to an address that is not one of its own, so we did not go on. Do not try again unless you know the app.'

/** Returns whether the resource is the MCP server for apps. A final slash makes no difference. */
const isOwnResource = (resource: string, { signedInMcp }: ServiceUrls) =>
  resource === signedInMcp || resource === `${signedInMcp}/`

/**
 * Serves a token request of an app.
 *
 * @throws {Problem} with an error of the token endpoint
 */
export async function serveAppToken(ctx: Context, deps: AppRouteDeps, form: URLSearchParams): Promise<void> {
  const client = await deps.authenticateApp(ctx, form)
  const resources = form.getAll('resource').filter(Boolean)
  if (resources.length > 1 || resources.some((resource) => !isOwnResource(resource, deps.urls)))
    throw new Problem('invalid-target', {
      detail: `Leave resource out, or send resource=${deps.urls.signedInMcp}`,
    })
  form.set('resource', deps.urls.signedInMcp)
  // There is only one scope, so a request cannot narrow it.
  form.delete('scope')
  const redirectUri = form.get('redirect_uri')
  // The document of the app may have changed since the code was issued.
  if (redirectUri && !acceptsRedirectUri(client, redirectUri))
    throw new Problem('invalid-grant', { detail: INVALID_GRANT_DETAIL })
  recordAppRequest(ctx, client)
  try {
    await passToProvider(ctx, deps, form, client.id)
    await markRefreshTokenUsed(ctx, deps.stores)
  } catch (error) {
    // After `invalid_grant`, a code that this request used stays used. After any other failure, the app may send it again.
    if (!(error instanceof Problem && error.code === 'invalid-grant')) {
      await undoTokenRequest(ctx, deps.stores)
      throw error
    }
    throw error.options.detail ? error : new Problem('invalid-grant', { detail: INVALID_GRANT_DETAIL })
  }
}

/**
 * Marks the refresh token that the request presented as used, before the app receives the new tokens. Until then, the request may
 * fail, and the app may send the token again at any time. If the token was already used, this does nothing: `find` in
 * `app-adapters.ts` reports the reuse, once the grace period is over.
 */
async function markRefreshTokenUsed(
  ctx: Context,
  { oauthRecords }: Pick<Stores, 'oauthRecords'>,
): Promise<void> {
  const token = findAppRequest(ctx)?.presentedRefreshToken
  if (token !== undefined) await oauthRecords.consume('RefreshToken', token)
}

/**
 * Undoes the parts of a failed token request that would hinder the next try, for example after a store was unavailable. A stored
 * access token stays until it expires: nobody received it.
 *
 * - The code can be used again. Otherwise, the app's next try would count as reuse, which ends the connection and tells the person
 *   that somebody may have copied a key.
 * - The new refresh token, which the app did not receive, is removed. Otherwise, an app that tries again during a long failure would
 *   reach the limit of refresh tokens.
 */
async function undoTokenRequest(ctx: Context, { oauthRecords }: Pick<Stores, 'oauthRecords'>): Promise<void> {
  const { consumedCode, newRefreshToken } = findAppRequest(ctx) ?? {}
  // If this fails too, the code stays used and the token stays stored. The response is about the first failure.
  await Promise.allSettled([
    consumedCode !== undefined && oauthRecords.release('AuthorizationCode', consumedCode),
    newRefreshToken !== undefined && oauthRecords.remove('RefreshToken', newRefreshToken),
  ])
}

const INVALID_GRANT_DETAIL =
  'The code or refresh token is not valid: it has expired, was used before, belongs to another app or request, or is bound to a key of which the ' +
  'request has no DPoP proof. Or its connection has reached the limit of refresh tokens, or the person ended the connection. ' +
  'Ask the person to connect again.'

/**
 * Revokes a token of an app (RFC 7009). Revoking a refresh token revokes the whole connection, and notifies the person by mail.
 * An access token is revoked alone.
 *
 * @throws {Problem} a problem of `authenticateApp`, `invalid-request` or `foreign-token`
 */
export async function serveAppRevocation(
  ctx: Context,
  deps: AppRouteDeps,
  form: URLSearchParams,
): Promise<void> {
  const client = await deps.authenticateApp(ctx, form)
  const token = requireToken(form)
  const { oauthRecords, connections, tokens } = deps.stores
  if (token.startsWith(REFRESH_TOKEN_PREFIX)) {
    const payload = (await oauthRecords.find('RefreshToken', token))?.payload
    if (!payload?.accountId) return
    if (payload.clientId !== client.id) throw new Problem('foreign-token')
    await connections.revoke(payload.accountId, 'agent', deps.now())
    return
  }
  const hash = sha256(token)
  const storedToken = await tokens.find(hash)
  if (storedToken && !(await belongsToApp(deps.stores, storedToken.clientId, client)))
    throw new Problem('foreign-token')
  await revokeAccessToken(deps.stores, hash)
}

/** Returns whether the client of a token is a connection of the app. */
export async function belongsToApp(
  { agentCache }: Pick<Stores, 'agentCache'>,
  agentId: AgentId,
  client: Pick<AppClient, 'id'>,
): Promise<boolean> {
  return (await agentCache.find(agentId))?.agent.appClientId === client.id
}
