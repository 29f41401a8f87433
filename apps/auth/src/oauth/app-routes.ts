/*
 * The OAuth requests of apps that people connect: the authorization endpoint, its continuation after the sign-in pages, and
 * the app's part of the token and revocation endpoints. They check the app and its redirect URI; then oidc-provider serves
 * the request.
 */
import { AgentId } from '@plainpath/domain'
import { type Limiter, Problem, type RawRoute } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { sha256 } from '@plainpath/sealing'
import type { Context } from 'koa'
import { type AppClient, type FindAppClient, isRedirectUriOf } from '../app-clients/app-client.ts'
import type { AuthenticateApp } from '../clients/authenticate-app.ts'
import { LIMITS } from '../limits.ts'
import type { Stores } from '../stores.ts'
import { REFRESH_TOKEN_PREFIX } from './app-adapters.ts'
import { beginAppRequest } from './app-request.ts'
import { APP_SCOPE, type ProviderSlot, ROUTES } from './create-provider.ts'
import { SIGN_IN_GONE } from './interactions.ts'
import { type InternalClientSecret, passBrowserToProvider, passToProvider } from './override-provider.ts'

export interface AppRouteDeps {
  readonly provider: ProviderSlot
  readonly urls: ServiceUrls
  readonly findAppClient: FindAppClient
  readonly authenticateApp: AuthenticateApp
  readonly internalClientSecret: InternalClientSecret
  readonly stores: Pick<Stores, 'cachedAgents' | 'connections' | 'oauthRecords' | 'tokens' | 'revoker'>
  readonly limiter: Limiter
  readonly now: () => Date
}

/** The grants of apps at the token endpoint. */
export const APP_GRANTS: ReadonlySet<string> = new Set(['authorization_code', 'refresh_token'])

/** Creates the routes that browsers open. */
export const appRoutes = (deps: AppRouteDeps): RawRoute[] => [
  {
    methods: ['GET'],
    path: ROUTES.authorization,
    limits: LIMITS.pages,
    serve: (ctx) => authorize(ctx, deps),
  },
  {
    methods: ['GET'],
    path: `${ROUTES.authorization}/{uid}`,
    limits: LIMITS.pages,
    serve: (ctx) => resume(ctx, deps),
  },
]

/** The parameters that are passed on. Others would ask for what this server does not have, such as an ID token. */
const PASSED = [
  'client_id',
  'redirect_uri',
  'response_type',
  'state',
  'code_challenge',
  'code_challenge_method',
  'dpop_jkt',
]

/**
 * Begins a sign-in. A request whose app or redirect URI is not acceptable gets a page, never a redirect; every other error
 * is sent to the app, with `iss`.
 */
async function authorize(ctx: Context, deps: AppRouteDeps): Promise<void> {
  if (answersHead(ctx)) return
  const sent = new URLSearchParams(ctx.querystring)
  const client = await acceptedClient(ctx, deps, sent.getAll('client_id'), sent.getAll('redirect_uri'))
  const passed = new URLSearchParams([...sent].filter(([name]) => PASSED.includes(name)))
  for (const resource of sent.getAll('resource').filter(Boolean))
    passed.append('resource', isOwnResource(resource, deps.urls) ? deps.urls.signedInMcp : resource)
  // The app gets the one scope, whatever it asks for, and learns that from the token response (RFC 6749 §3.3).
  passed.set('scope', APP_SCOPE)
  // The person is always asked, so of the prompts only one that excludes it makes a difference.
  if (sent.getAll('prompt').includes('none')) passed.set('prompt', 'none')
  // The library refuses this one, and says so in the query: a form that posts itself would need a script.
  if (sent.has('response_mode') && sent.get('response_mode') !== 'query') passed.set('response_mode', 'other')
  beginAppRequest(ctx, client)
  await passBrowserToProvider(ctx, deps, passed)
}

/** Continues after the sign-in pages: the app gets a code, or `access_denied`. */
async function resume(ctx: Context, deps: AppRouteDeps): Promise<void> {
  if (answersHead(ctx)) return
  const { provider } = deps.provider
  const uid = ctx.cookies.get(provider.cookieName('resume'))
  const isOfBrowser = uid !== undefined && ctx.path === `${ROUTES.authorization}/${uid}`
  const interaction = isOfBrowser ? await provider.Interaction.find(uid) : undefined
  if (!interaction) throw new Problem('not-found', { detail: SIGN_IN_GONE })
  const { client_id: id, redirect_uri: redirectUri } = interaction.params
  // The app may have changed since the sign-in began.
  const client = await acceptedClient(ctx, deps, [String(id)], [String(redirectUri)])
  const agentId = interaction.result?.login?.accountId
  if (agentId !== undefined && !(await deps.stores.connections.find(agentId, deps.now()))) {
    interaction.result = { error: 'access_denied', error_description: 'the connection has ended' }
    await interaction.persist()
  }
  beginAppRequest(ctx, client)
  await passBrowserToProvider(ctx, deps, new URLSearchParams())
}

/** The router passes HEAD too. A scanner that sends it must neither begin a sign-in nor use one up. */
function answersHead(ctx: Context): boolean {
  if (ctx.method !== 'HEAD') return false
  ctx.status = 200
  ctx.body = ''
  return true
}

/** @throws {Problem} `invalid-request` unless both are there once, the app is known, and the URI is one of the app's */
async function acceptedClient(
  ctx: Context,
  { findAppClient }: Pick<AppRouteDeps, 'findAppClient'>,
  ids: readonly string[],
  redirectUris: readonly string[],
): Promise<AppClient> {
  const [id, anotherId] = ids
  const [redirectUri, anotherUri] = redirectUris
  if (!id || !redirectUri || anotherId !== undefined || anotherUri !== undefined)
    throw new Problem('invalid-request', { detail: NO_APP })
  const client = await findAppClient(ctx, id)
  if (!client) throw new Problem('invalid-request', { detail: UNKNOWN_APP })
  if (!isRedirectUriOf(client, redirectUri))
    throw new Problem('invalid-request', { detail: OTHER_REDIRECT_URI })
  return client
}

const NO_APP =
  'This address is for apps that a person connects. The app must send client_id and redirect_uri, each once. Agents do not need it: they use client_credentials.'
const UNKNOWN_APP =
  'The app that sent you here is not known to us, so we did not go on. Go back to the app and connect again. If that does not help, the app is not supported.'
const OTHER_REDIRECT_URI =
  'The app asked us to send you to an address that is not one of its own, so we did not go on. Do not try again unless you know the app.'

const isOwnResource = (resource: string, { signedInMcp }: ServiceUrls) =>
  resource === signedInMcp || resource === `${signedInMcp}/`

/** Serves a token request of an app. @throws {Problem} as the token endpoint does */
export async function appToken(ctx: Context, deps: AppRouteDeps, form: URLSearchParams): Promise<void> {
  const client = await deps.authenticateApp(ctx, form)
  const resources = form.getAll('resource').filter(Boolean)
  if (resources.length > 1 || resources.some((resource) => !isOwnResource(resource, deps.urls)))
    throw new Problem('invalid-target', {
      detail: `Leave resource out, or send resource=${deps.urls.signedInMcp}`,
    })
  form.set('resource', deps.urls.signedInMcp)
  // There is one scope, so none can be left out.
  form.delete('scope')
  const redirectUri = form.get('redirect_uri')
  // The document of the app may have changed since the code was issued.
  if (redirectUri && !isRedirectUriOf(client, redirectUri))
    throw new Problem('invalid-grant', { detail: ENDED })
  beginAppRequest(ctx, client)
  try {
    await passToProvider(ctx, deps, form, client.id)
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'invalid-grant') || error.options.detail) throw error
    throw new Problem('invalid-grant', { detail: ENDED })
  }
}

const ENDED =
  'The code or refresh token is not valid: it has expired, was used before, belongs to another app or request, or the person ended the connection. ' +
  'Ask the person to connect again.'

/**
 * Revokes a token for an app (RFC 7009): an access token alone, or with a refresh token the whole connection, of which the
 * person gets a mail.
 *
 * @throws {Problem} `invalid-client` or `foreign-token`
 */
export async function revokeForApp(ctx: Context, deps: AppRouteDeps, form: URLSearchParams): Promise<void> {
  const client = await deps.authenticateApp(ctx, form)
  const token = requiredToken(form)
  const { oauthRecords, connections, tokens, revoker } = deps.stores
  if (token.startsWith(REFRESH_TOKEN_PREFIX)) {
    const payload = (await oauthRecords.find('RefreshToken', token))?.payload
    if (!payload?.accountId) return
    if (payload.clientId !== client.id) throw new Problem('foreign-token')
    await connections.end(payload.accountId, 'agent', deps.now())
    return
  }
  const hash = sha256(token)
  const found = await tokens.find(hash)
  if (found && !(await isConnectionOf(deps.stores, found.clientId, client)))
    throw new Problem('foreign-token')
  await tokens.revoke(hash)
  await revoker.publishRevocation({ kind: 'token', hash: hash.toString('base64url') })
}

async function isConnectionOf(
  { cachedAgents }: Pick<Stores, 'cachedAgents'>,
  agentId: AgentId,
  client: AppClient,
): Promise<boolean> {
  return (await cachedAgents.find(agentId))?.agent.appClientId === client.id
}

/** Reads the token of a revocation or an introspection. @throws {Problem} `invalid-request` */
export function requiredToken(form: URLSearchParams): string {
  const [presented, another] = form.getAll('token')
  if (!presented || another !== undefined)
    throw new Problem('invalid-request', { detail: 'Send the parameter token exactly once.' })
  return presented
}
