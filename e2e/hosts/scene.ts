import type { AgentDocuments } from '@plainpath/auth/agent-documents'
import { openPool, type Pool } from '@plainpath/postgres'
import { createSender, json, type Sender } from '../send.ts'
import type { SystemWithMail } from '../start-system-with-mail.ts'
import type { AgentCredentials } from '../verification-steps.ts'
import { type App, type Authorization, openApp, type TokenResponse } from './app.ts'
import { type AppConnection, connect } from './connect.ts'
import { createPerson, type Person } from './person.ts'
import type { Page } from './plain-browser.ts'

/** The outcome of a step. */
export interface Outcome {
  /**
   * `granted`: the app has a token that the MCP server accepts. `page`: the browser stayed at the service. Otherwise the place of
   * the refusal: the callback, the token endpoint, the signed-in MCP server, or another endpoint of the service (`api`).
   */
  readonly at: 'granted' | 'page' | 'callback' | 'token' | 'mcp' | 'api'
  readonly status?: number
  /** The OAuth error or the code of the problem. */
  readonly error?: string
  readonly heading?: string
}

/** A hostile step, with a harmless twin that differs only in its hostile part. */
export interface HostileCase {
  readonly description: string
  readonly expectedOutcome: Outcome
  /**
   * Prepares the hostile step, calls `scene.startCountingGrants()`, and takes the step.
   *
   * @param isHostile false for the harmless twin, which must end in `granted`
   */
  run(scene: Scene, isHostile: boolean): Promise<Outcome>
}

export const CLAUDE_URI = 'https://claude.ai/api/mcp/auth_callback'
export const LOOPBACK_URI = 'http://localhost:8787/callback'

/** The things that all cases share: apps that are registered once, and ways to create people, agents and grants. */
export interface Scene extends AsyncDisposable {
  readonly system: SystemWithMail
  readonly documents: AgentDocuments
  readonly origin: string
  /** An app that returns to a site. */
  readonly app: App
  /** Another app that returns to the same site. */
  readonly otherApp: App
  /** An app that returns to a program on this computer. */
  readonly nativeApp: App
  readonly db: Pool
  readonly sender: Sender
  createPerson(options?: { email?: string }): Person
  /** Lets a new person sign in with `app`. */
  connect(): Promise<AppConnection>
  registerAgent(): Promise<AgentCredentials>
  /** Starts to count new grants. */
  startCountingGrants(): Promise<void>
  /** Returns how many more e-mail verifications, codes and refresh tokens are in effect than at `startCountingGrants`. */
  countNewGrants(): Promise<number>
  /** Exchanges the code of the callback, and uses the token. */
  redeem(app: App, authorization: Authorization, callback: URL): Promise<Outcome>
}

const REGISTRATION = {
  client_name: 'An app',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}
/** Creates the metadata with which an app registers. */
export const createAppRegistration = (...redirectUris: readonly string[]) => ({
  ...REGISTRATION,
  redirect_uris: redirectUris,
})

/** Opens the scene. @param system has a thousand times the production limits, and trusts the documents */
export async function openScene(system: SystemWithMail, documents: AgentDocuments): Promise<Scene> {
  await using opening = new AsyncDisposableStack()
  const { origin } = system
  const register = async (...redirectUris: readonly string[]) =>
    opening.use(await openApp({ origin, registration: createAppRegistration(...redirectUris) }))
  const app = await register(CLAUDE_URI)
  const otherApp = await register(CLAUDE_URI, 'https://claude.com/api/mcp/auth_callback')
  const nativeApp = await register(LOOPBACK_URI)
  const db = opening.use(openPool(system.adminUrls.auth, { max: 2 }))
  const sender = opening.use(createSender(origin))
  const resources = opening.move()
  let grantCountBefore = 0
  const scene: Scene = {
    system,
    documents,
    origin,
    app,
    otherApp,
    nativeApp,
    db,
    sender,
    createPerson(options = {}) {
      return resources.use(createPerson({ origin, mail: system.mail, ...options }))
    },
    connect: () => connect(app, scene.createPerson(), { redirectUri: CLAUDE_URI }),
    async registerAgent() {
      const { text } = await sender.send({ method: 'POST', path: '/api/agent/register', ...json({}) })
      return JSON.parse(text) as AgentCredentials
    },
    async startCountingGrants() {
      grantCountBefore = await countGrants(db)
    },
    countNewGrants: async () => (await countGrants(db)) - grantCountBefore,
    async redeem(redeemer, authorization, callback) {
      if (!callback.searchParams.has('code')) return toCallbackOutcome(callback)
      return useTokens(redeemer, await redeemer.exchange(authorization, callback))
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
  return scene
}

/** Counts the e-mail verifications that have not ended, and the codes and refresh tokens that were not used. Ignores expiry. */
async function countGrants(db: Pool): Promise<number> {
  const { rows } = await db.query<{ grants: number }>(
    `select (select count(*) from claims where ended_at is null)::int
       + (select count(*) from oauth_records where id ~ '^(AuthorizationCode|RefreshToken):' and consumed_at is null)::int
       as grants`,
  )
  return rows[0]?.grants ?? 0
}

/** Uses the access token of a token response. If there is none, the outcome is that response. */
export async function useTokens(
  app: App,
  { status, error, access_token: token }: TokenResponse,
): Promise<Outcome> {
  if (token === undefined) return { at: 'token', status, ...(error !== undefined && { error }) }
  return useToken(app, token)
}

/** Lists the tools of the signed-in MCP server with a token. */
export async function useToken(app: App, token: string): Promise<Outcome> {
  const { status } = await app.sendMessage({ method: 'tools/list' }, { token })
  return status === 200 ? { at: 'granted' } : { at: 'mcp', status }
}

/** Converts a callback without a code to an outcome. An error for `response_type=token` is in the fragment. */
export const toCallbackOutcome = ({ searchParams, hash }: URL): Outcome => ({
  at: 'callback',
  error: searchParams.get('error') ?? new URLSearchParams(hash.slice(1)).get('error') ?? 'none',
})

/** Converts a page to an outcome. If the browser was redirected to an app, converts that callback. */
export const toPageOutcome = (page: Page): Outcome =>
  page.externalTarget
    ? toCallbackOutcome(page.externalTarget)
    : { at: 'page', status: page.status, heading: page.heading }

/** Converts a response of an API to an outcome. */
export const toApiOutcome = ({
  status,
  text,
}: {
  readonly status: number
  readonly text: string
}): Outcome => {
  const { error, code } = JSON.parse(text || '{}') as { error?: string; code?: string }
  return { at: 'api', status, error: code ?? error ?? 'none' }
}
