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
import { exampleAttempt, exampleRedemption, linkMail } from './example-claim.ts'
import { openAuthStores, type TokenPlace } from './open-auth-stores.ts'
import { type HttpResponse, send } from './send.ts'
import { ORIGIN, type RunningAuth, startInstance } from './start-auth.ts'

export const CALLBACK = 'https://host.example/callback'
export const RESOURCE = `${ORIGIN}/mcp`

/** An app with one redirect URI that sends no credentials. */
export const exampleApp = (members: Partial<AppClient> = {}): AppClient => ({
  id: `app_${randomBytes(16).toString('base64url')}`,
  redirectUris: [CALLBACK],
  name: 'Example host',
  applicationType: 'web',
  authMethod: 'none',
  keys: [],
  source: 'registered',
  ...members,
})

/** A server whose apps and sign-in pages are the test's, and whose clock only the test moves on. */
export interface AppsUnderTest extends AsyncDisposable {
  readonly auth: RunningAuth
  /** The stores that the server uses. */
  readonly stores: Stores
  /** Another process on the same stores, with apps and clock in common. */
  readonly there: RunningAuth
  readonly clock: { now: Date }
  /** Apps by id. A test may replace one. */
  readonly apps: Map<string, AppClient>
}

export async function startApps(tokens: TokenPlace): Promise<AppsUnderTest> {
  await using opening = new AsyncDisposableStack()
  const authStores = opening.use(await openAuthStores(tokens))
  // Tests move it from the past to the present, since oidc-provider judges what it stored by the clock of the machine.
  const clock = { now: new Date(Date.now() - 80 * DAY_MS) }
  const apps = new Map<string, AppClient>()
  let stores: Stores | undefined
  const start = async () =>
    opening.use(
      await startInstance(authStores, {
        now: () => clock.now,
        apps: {
          find: async (_ctx, id) => apps.get(id),
          signIn(interactions, opened) {
            stores = opened
            return [signInPage(interactions, opened, () => clock.now)]
          },
        },
      }),
    )
  const [auth, there] = [await start(), await start()]
  if (!stores) throw new Error('the server asked for no sign-in pages')
  const resources = opening.move()
  return { auth, there, stores, clock, apps, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

/** In place of the sign-in pages: a POST allows or denies at once, for a person whose e-mail address counts as proven. */
const signInPage = (interactions: Interactions, stores: Stores, now: () => Date) => ({
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
    const named = form.get('agent')
    const agentId = named
      ? AgentId.parse(named)
      : await connectionWithClaim(stores, interaction?.client.id ?? 'app_none', now())
    await interactions.allow(ctx, { agentId })
  },
})

/** Creates a connection whose person has proven their address. */
export async function connectionWithClaim(stores: Stores, clientId: string, now: Date): Promise<AgentId> {
  const agentId = await stores.connections.begin({ clientId, host: 'Example', name: 'Example host' }, now)
  const attempt = exampleAttempt(agentId, {
    createdAt: now,
    email: `canary-${randomBytes(6).toString('hex')}@example.org`,
  })
  await stores.verificationAttempts.begin(attempt, linkMail(attempt))
  const hash = sha256(randomBytes(8))
  await stores.verificationAttempts.showCode(attempt.id, hash, now)
  const redeemed = await stores.verifications.redeem(exampleRedemption(attempt.id, hash, now))
  if (!redeemed.ok) throw new Error(redeemed.error)
  return agentId
}

/** Creates the values that an app generates for each request: state, and a code verifier with its challenge. */
export function newRequest() {
  const verifier = randomBytes(32).toString('base64url')
  return {
    verifier,
    challenge: createHash('sha256').update(verifier).digest('base64url'),
    state: randomBytes(8).toString('hex'),
  }
}
export type AppRequestParameters = ReturnType<typeof newRequest>

/** Sends the browser to the authorization endpoint. @param change parameters beside the usual ones; undefined removes one */
export function authorize(
  browser: Browser,
  app: AppClient,
  request: AppRequestParameters,
  change: Record<string, string | undefined> = {},
): Promise<HttpResponse> {
  const usual: Record<string, string | undefined> = {
    client_id: app.id,
    redirect_uri: app.redirectUris[0],
    response_type: 'code',
    state: request.state,
    code_challenge: request.challenge,
    code_challenge_method: 'S256',
    resource: RESOURCE,
    scope: 'contact:write offline_access',
    ...change,
  }
  const sent = Object.entries(usual).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return browser.open(`/oauth/authorize?${new URLSearchParams(sent)}`)
}

export const locationOf = (answer: HttpResponse): URL => {
  expect(answer.status, answer.text).toBe(303)
  return new URL(answer.headers.get('location') ?? '', ORIGIN)
}

/** Answers on the sign-in page, and follows the redirects of this server. @returns the one to the app */
export async function answerSignIn(
  browser: Browser,
  page: URL,
  form: Record<string, string> = { answer: 'allow' },
): Promise<URL> {
  const answered = await browser.open(page.href, { method: 'POST', body: new URLSearchParams(form) })
  return locationOf(await browser.open(locationOf(answered).href))
}

/** Goes from the authorization request to the code. */
export async function getCode(
  { auth }: Pick<AppsUnderTest, 'auth'>,
  app: AppClient,
  change: Record<string, string | undefined> = {},
) {
  const request = newRequest()
  const browser = new Browser(auth.url)
  const back = await answerSignIn(browser, locationOf(await authorize(browser, app, request, change)))
  const code = back.searchParams.get('code') ?? ''
  expect(code, back.href).toMatch(/^[A-Za-z0-9_-]{43}$/)
  auth.confidential.add(code)
  return { code, back, ...request }
}

export const post = (auth: RunningAuth, path: string, form: Record<string, string | undefined>) =>
  send(auth.url, {
    method: 'POST',
    path,
    body: new URLSearchParams(
      Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
  })

/** Exchanges a code. */
export const redeemCode = (
  auth: RunningAuth,
  app: AppClient,
  { code, verifier }: { code: string; verifier: string },
  change: Record<string, string | undefined> = {},
) =>
  post(auth, '/oauth/token', {
    grant_type: 'authorization_code',
    client_id: app.id,
    code,
    code_verifier: verifier,
    redirect_uri: app.redirectUris[0],
    resource: RESOURCE,
    ...change,
  })

export const refresh = (
  auth: RunningAuth,
  app: AppClient,
  token: string,
  change: Record<string, string | undefined> = {},
) =>
  post(auth, '/oauth/token', {
    grant_type: 'refresh_token',
    client_id: app.id,
    refresh_token: token,
    resource: RESOURCE,
    ...change,
  })

export interface AppTokens {
  readonly access: string
  readonly refresh: string
}

/** Reads a token response. */
export function tokensIn(auth: RunningAuth, answer: HttpResponse): AppTokens {
  expect(answer.status, answer.text).toBe(200)
  const { access_token: access, refresh_token: refreshToken } = JSON.parse(answer.text) as Record<
    string,
    string
  >
  expect(access).toMatch(/^ppt_[A-Za-z0-9_-]{43}$/)
  expect(refreshToken).toMatch(/^ppr_[A-Za-z0-9_-]{43}$/)
  auth.confidential.add(access ?? '').add(refreshToken ?? '')
  return { access: access ?? '', refresh: refreshToken ?? '' }
}

/** The whole flow. */
export async function connect(
  under: AppsUnderTest,
  app?: AppClient,
): Promise<AppTokens & { app: AppClient }> {
  const connected = app ?? exampleApp()
  under.apps.set(connected.id, connected)
  const answer = await redeemCode(under.auth, connected, await getCode(under, connected))
  return { app: connected, ...tokensIn(under.auth, answer) }
}

/** Makes an app known to the servers. */
export function addApp(under: AppsUnderTest, members: Partial<AppClient> = {}): AppClient {
  const added = exampleApp(members)
  under.apps.set(added.id, added)
  return added
}

export const introspected = async (under: AppsUnderTest, token: string) =>
  (await introspect(under.auth, token)).payload.token_introspection as Record<string, unknown>

/** Reads which connection a token belongs to. */
export async function connectionOf(under: AppsUnderTest, token: string) {
  const { client_id: agentId, registration_id: verificationId } = await introspected(under, token)
  return { agentId: String(agentId), verificationId: String(verificationId) }
}

/** Asks both servers whether a token is active. */
export const activeAt = (under: AppsUnderTest, token: string) =>
  Promise.all([isActive(under.auth, token), isActive(under.there, token)])

export const expectEnded = async (under: AppsUnderTest, { access }: AppTokens) =>
  expect(await activeAt(under, access)).toEqual([false, false])
