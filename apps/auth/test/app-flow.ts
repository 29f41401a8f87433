import { createHash, randomBytes } from 'node:crypto'
import { AgentId, DAY_MS } from '@plainpath/domain'
import { readForm } from '@plainpath/http'
import { sha256 } from '@plainpath/sealing'
import { expect } from 'vitest'
import type { AppClient } from '../src/app-clients/app-client.ts'
import type { Interactions } from '../src/oauth/interactions.ts'
import type { Stores } from '../src/stores.ts'
import { introspect, isActive } from './agent-client.ts'
import { Browser } from './browser.ts'
import { createAttempt, createLinkMail, createRedemption } from './example-claim.ts'
import { openAuthTestbed, type TokenStoreKind } from './open-auth-testbed.ts'
import { type HttpResponse, send } from './send.ts'
import { ORIGIN, type RunningAuth, type StartOptions, startInstance } from './start-auth.ts'

/** The redirect URI of an example app. */
export const CALLBACK = 'https://host.example/callback'
/** The resource identifier of the MCP server with sign-in, for which apps get tokens. */
export const RESOURCE = `${ORIGIN}/mcp`

/** Creates an app, by default one that has a single redirect URI and does not authenticate. */
export const createExampleApp = (overrides: Partial<AppClient> = {}): AppClient => ({
  id: `app_${randomBytes(16).toString('base64url')}`,
  redirectUris: [CALLBACK],
  name: 'Example host',
  applicationType: 'web',
  authMethod: 'none',
  keys: [],
  source: 'registered',
  ...overrides,
})

/** Two instances whose apps, sign-in pages and clock the test controls. */
export interface AppSystem extends AsyncDisposable {
  readonly auth: RunningAuth
  /** The stores that `otherInstance` opened. */
  readonly stores: Stores
  /** An instance with the same stores, apps and clock as `auth`. */
  readonly otherInstance: RunningAuth
  readonly clock: { now: Date }
  /** Apps by id. A test may replace one. */
  readonly apps: Map<string, AppClient>
}

/** Starts two instances in a new testbed. Their clock starts 80 days in the past. */
export async function startAppSystem(
  tokenStore: TokenStoreKind,
  options: Pick<StartOptions, 'env' | 'redisTimeoutMs'> = {},
): Promise<AppSystem> {
  await using opening = new AsyncDisposableStack()
  const testbed = opening.use(await openAuthTestbed(tokenStore))
  // The clock starts in the past, so that a test can advance it without passing the machine's clock, with which
  // oidc-provider compares expiry times.
  const clock = { now: new Date(Date.now() - 80 * DAY_MS) }
  const apps = new Map<string, AppClient>()
  let stores: Stores | undefined
  const start = async () =>
    opening.use(
      await startInstance(testbed, {
        ...options,
        now: () => clock.now,
        apps: {
          find: async (_ctx, id) => apps.get(id),
          signIn(interactions, openedStores) {
            // The second instance replaces the stores of the first.
            stores = openedStores
            return [createSignInRoute(interactions, openedStores, () => clock.now)]
          },
        },
      }),
    )
  const [auth, otherInstance] = [await start(), await start()]
  if (!stores) throw new Error('no instance created its sign-in pages')
  const resources = opening.move()
  return { auth, otherInstance, stores, clock, apps, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/**
 * Creates a route that replaces the sign-in pages. A GET returns the client id and the redirect URI as JSON. A POST with
 * `answer=deny` denies the sign-in. Any other POST allows it, with the connection whose id is in the field `agent`, or else
 * with a new connection.
 */
export const createSignInRoute = (interactions: Interactions, stores: Stores, now: () => Date) => ({
  methods: ['GET', 'POST'],
  path: '/oauth/sign-in/{uid}',
  limits: [],
  async serve(ctx: Parameters<Interactions['find']>[0]) {
    const interaction = await interactions.find(ctx)
    if (ctx.method === 'GET') {
      ctx.body = { redirect_uri: interaction?.redirectUri ?? null, client_id: interaction?.client.id ?? null }
      return
    }
    const form = await readForm(ctx, '')
    if (form.get('answer') === 'deny') return await interactions.deny(ctx)
    const chosenAgent = form.get('agent')
    const agentId = chosenAgent
      ? AgentId.parse(chosenAgent)
      : await addVerifiedConnection(stores, interaction?.client.id ?? 'app_none', now())
    await interactions.allow(ctx, { agentId })
  },
})

/** Adds a connection with a verification, as if a person had completed the sign-in. Returns the id of its agent. */
export async function addVerifiedConnection(stores: Stores, clientId: string, now: Date): Promise<AgentId> {
  const agentId = await stores.connections.begin({ clientId, host: 'Example', name: 'Example host' }, now)
  const attempt = createAttempt(agentId, {
    createdAt: now,
    email: `canary-${randomBytes(6).toString('hex')}@example.org`,
  })
  await stores.verificationAttempts.begin(attempt, createLinkMail(attempt))
  const hash = sha256(randomBytes(8))
  await stores.verificationAttempts.showCode(attempt.id, hash, now)
  const redemption = await stores.verifications.redeem(createRedemption(attempt, hash, now))
  if (!redemption.ok) throw new Error(redemption.error)
  return agentId
}

/** Creates the values that an app generates for each request: state, and a code verifier with its challenge. */
export function generateRequestValues() {
  const verifier = randomBytes(32).toString('base64url')
  return {
    verifier,
    challenge: createHash('sha256').update(verifier).digest('base64url'),
    state: randomBytes(8).toString('hex'),
  }
}
/** The values that an app generates for one authorization request. */
export type AuthorizationRequestValues = ReturnType<typeof generateRequestValues>

/**
 * Opens the authorization endpoint in the browser.
 *
 * @param overrides parameters that are added to the usual ones or replace them; undefined removes one
 */
export function authorize(
  browser: Browser,
  app: AppClient,
  request: AuthorizationRequestValues,
  overrides: Record<string, string | undefined> = {},
): Promise<HttpResponse> {
  const parameters: Record<string, string | undefined> = {
    client_id: app.id,
    redirect_uri: app.redirectUris[0],
    response_type: 'code',
    state: request.state,
    code_challenge: request.challenge,
    code_challenge_method: 'S256',
    resource: RESOURCE,
    scope: 'contact:write offline_access',
    ...overrides,
  }
  const definedEntries = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return browser.open(`/oauth/authorize?${new URLSearchParams(definedEntries)}`)
}

/** Checks that a response is a redirect, and returns its target. */
export const getRedirectTarget = (response: HttpResponse): URL => {
  expect(response.status, response.text).toBe(303)
  return new URL(response.headers.get('location') ?? '', ORIGIN)
}

/**
 * Submits the sign-in page, and follows the redirect to the authorization endpoint.
 *
 * @returns the target of the next redirect, which leads to the app
 */
export async function answerSignIn(
  browser: Browser,
  page: URL,
  form: Record<string, string> = { answer: 'allow' },
): Promise<URL> {
  const submitResponse = await browser.open(page.href, { method: 'POST', body: new URLSearchParams(form) })
  return getRedirectTarget(await browser.open(getRedirectTarget(submitResponse).href))
}

/**
 * Gets an authorization code: sends the authorization request, and allows it on the sign-in page. Adds the code to
 * `auth.confidential`.
 */
export async function getCode(
  { auth }: Pick<AppSystem, 'auth'>,
  app: AppClient,
  overrides: Record<string, string | undefined> = {},
) {
  const request = generateRequestValues()
  const browser = new Browser(auth.url)
  const callbackUrl = await answerSignIn(
    browser,
    getRedirectTarget(await authorize(browser, app, request, overrides)),
  )
  const code = callbackUrl.searchParams.get('code') ?? ''
  expect(code, callbackUrl.href).toMatch(/^[A-Za-z0-9_-]{43}$/)
  auth.confidential.add(code)
  return { code, callbackUrl, ...request }
}

/** Posts a form. Fields that are undefined are left out. */
export const postForm = (auth: RunningAuth, path: string, form: Record<string, string | undefined>) =>
  send(auth.url, {
    method: 'POST',
    path,
    body: new URLSearchParams(
      Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
  })

/** Exchanges a code for tokens. */
export const redeemCode = (
  auth: RunningAuth,
  app: AppClient,
  { code, verifier }: { code: string; verifier: string },
  overrides: Record<string, string | undefined> = {},
) =>
  postForm(auth, '/oauth/token', {
    grant_type: 'authorization_code',
    client_id: app.id,
    code,
    code_verifier: verifier,
    redirect_uri: app.redirectUris[0],
    resource: RESOURCE,
    ...overrides,
  })

/** Requests new tokens with a refresh token. */
export const refresh = (
  auth: RunningAuth,
  app: AppClient,
  token: string,
  overrides: Record<string, string | undefined> = {},
) =>
  postForm(auth, '/oauth/token', {
    grant_type: 'refresh_token',
    client_id: app.id,
    refresh_token: token,
    resource: RESOURCE,
    ...overrides,
  })

export interface AppTokens {
  readonly access: string
  readonly refresh: string
}

/** Reads the tokens from a response that must be successful. Adds them to `auth.confidential`. */
export function readTokens(auth: RunningAuth, response: HttpResponse): AppTokens {
  expect(response.status, response.text).toBe(200)
  const { access_token: access, refresh_token: refreshToken } = JSON.parse(response.text) as Record<
    string,
    string
  >
  expect(access).toMatch(/^ppt_[A-Za-z0-9_-]{43}$/)
  expect(refreshToken).toMatch(/^ppr_[A-Za-z0-9_-]{43}$/)
  auth.confidential.add(access ?? '').add(refreshToken ?? '')
  return { access: access ?? '', refresh: refreshToken ?? '' }
}

/** Goes through the whole flow, from the authorization request to the tokens. */
export async function connectApp(
  system: AppSystem,
  app?: AppClient,
): Promise<AppTokens & { app: AppClient }> {
  const client = app ?? createExampleApp()
  system.apps.set(client.id, client)
  const response = await redeemCode(system.auth, client, await getCode(system, client))
  return { app: client, ...readTokens(system.auth, response) }
}

/** Adds an app, which both instances can then find. */
export function addApp(system: AppSystem, overrides: Partial<AppClient> = {}): AppClient {
  const app = createExampleApp(overrides)
  system.apps.set(app.id, app)
  return app
}

/** Introspects a token at `auth`. Returns the member `token_introspection`. */
export const introspectToken = async (system: AppSystem, token: string) =>
  (await introspect(system.auth, token)).payload.token_introspection as Record<string, unknown>

/** Finds the ids of the connection and of the verification to which an active token belongs. */
export async function findConnectionIds(system: AppSystem, token: string) {
  const { client_id: agentId, registration_id: verificationId } = await introspectToken(system, token)
  return { agentId: String(agentId), verificationId: String(verificationId) }
}

/** Returns whether a token is active at `auth`, and whether it is active at `otherInstance`. */
export const isActiveAtEachInstance = (system: AppSystem, token: string) =>
  Promise.all([isActive(system.auth, token), isActive(system.otherInstance, token)])

/** Checks that neither instance accepts the access token. */
export const expectRevoked = async (system: AppSystem, { access }: AppTokens) =>
  expect(await isActiveAtEachInstance(system, access)).toEqual([false, false])
