import { basic, form } from '../send.ts'
import type { App, Authorization, Fields } from './app.ts'
import { createAppDocument } from './hostile-authorizations.ts'
import { publishDocument } from './publish-document.ts'
import {
  CLAUDE_URI,
  type HostileCase,
  type Outcome,
  type Scene,
  toApiOutcome,
  useToken,
  useTokens,
} from './scene.ts'

/** Lets a new person sign in. Returns the callback, whose code the app has not redeemed yet. */
async function obtainCode(scene: Scene, app: App = scene.app) {
  const person = scene.createPerson()
  const authorization = app.authorize({ redirectUri: CLAUDE_URI })
  return { person, authorization, callback: await person.signIn(authorization.url) }
}

/** Creates a step that redeems a code, with changes if it is hostile. */
const exchangeWith =
  (hostileChanges: Fields | ((scene: Scene, authorization: Authorization) => Fields)) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { authorization, callback } = await obtainCode(scene)
    const changes =
      typeof hostileChanges === 'function' ? hostileChanges(scene, authorization) : hostileChanges
    await scene.startCountingGrants()
    return useTokens(scene.app, await scene.app.exchange(authorization, callback, isHostile ? changes : {}))
  }

/** Creates a step that uses a refresh token, with changes if it is hostile. */
const refreshWith =
  (createChanges: (scene: Scene) => Fields) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { app, refreshToken } = await scene.connect()
    await scene.startCountingGrants()
    return useTokens(app, await app.refresh(refreshToken, isHostile ? createChanges(scene) : {}))
  }

/** Makes every used refresh token look as if it was used this many seconds earlier. The grace period is 60 s. */
const ageUsedRefreshTokens = (scene: Scene, seconds: number) =>
  scene.db.query(
    `update oauth_records set consumed_at = consumed_at - make_interval(secs => $1)
     where id like 'RefreshToken:%' and consumed_at is not null`,
    [seconds],
  )

const INVALID_GRANT = { at: 'token', status: 400, error: 'invalid_grant' } as const
const INVALID_TARGET = { at: 'token', status: 400, error: 'invalid_target' } as const
const INVALID_CLIENT = { at: 'token', status: 401, error: 'invalid_client' } as const
const UNAUTHORIZED = { at: 'mcp', status: 401 } as const

export const HOSTILE_TOKENS: readonly HostileCase[] = [
  {
    description: 'a code that was already redeemed',
    expectedOutcome: INVALID_GRANT,
    async run(scene, isHostile) {
      const { authorization, callback } = await obtainCode(scene)
      if (isHostile) await scene.app.exchange(authorization, callback)
      await scene.startCountingGrants()
      return useTokens(scene.app, await scene.app.exchange(authorization, callback))
    },
  },
  {
    description: 'the token of a code that was redeemed twice',
    expectedOutcome: UNAUTHORIZED,
    async run(scene, isHostile) {
      const { authorization, callback } = await obtainCode(scene)
      const { access_token: token = '' } = await scene.app.exchange(authorization, callback)
      await scene.startCountingGrants()
      if (isHostile) await scene.app.exchange(authorization, callback)
      return useToken(scene.app, token)
    },
  },
  {
    description: 'a code of another app',
    expectedOutcome: INVALID_GRANT,
    async run(scene, isHostile) {
      const { authorization, callback } = await obtainCode(scene)
      await scene.startCountingGrants()
      const app = isHostile ? scene.otherApp : scene.app
      return useTokens(app, await app.exchange(authorization, callback))
    },
  },
  {
    description: 'a code without the verifier',
    expectedOutcome: INVALID_GRANT,
    run: exchangeWith({ code_verifier: undefined }),
  },
  {
    description: 'a code with another verifier',
    expectedOutcome: INVALID_GRANT,
    run: exchangeWith({ code_verifier: 'A'.repeat(43) }),
  },
  {
    description: 'a code with the challenge as the verifier',
    expectedOutcome: INVALID_GRANT,
    run: exchangeWith((_scene, { url }) => ({ code_verifier: url.searchParams.get('code_challenge') ?? '' })),
  },
  {
    description: 'a code with another redirect URI of the list',
    expectedOutcome: INVALID_GRANT,
    run: exchangeWith({ redirect_uri: 'https://claude.com/api/mcp/auth_callback' }),
  },
  {
    description: 'a code with no redirect URI',
    expectedOutcome: { at: 'token', status: 400, error: 'invalid_request' },
    run: exchangeWith({ redirect_uri: undefined }),
  },
  {
    description: 'a code for another resource',
    expectedOutcome: INVALID_TARGET,
    run: exchangeWith({ resource: 'https://other.example/mcp' }),
  },
  {
    description: 'a code for the API',
    expectedOutcome: INVALID_TARGET,
    run: exchangeWith(({ origin }) => ({ resource: `${origin}/api` })),
  },
  {
    description: 'an expired code',
    expectedOutcome: INVALID_GRANT,
    async run(scene, isHostile) {
      const { authorization, callback } = await obtainCode(scene)
      if (isHostile)
        await scene.db.query(
          `update oauth_records set expires_at = now() - interval '1 second' where id like 'AuthorizationCode:%'`,
        )
      await scene.startCountingGrants()
      return useTokens(scene.app, await scene.app.exchange(authorization, callback))
    },
  },
  {
    description: 'a code after the person ended the access',
    expectedOutcome: INVALID_GRANT,
    async run(scene, isHostile) {
      const { person, authorization, callback } = await obtainCode(scene)
      if (isHostile) await person.revokeAllAccess()
      await scene.startCountingGrants()
      return useTokens(scene.app, await scene.app.exchange(authorization, callback))
    },
  },
  {
    description: 'a code of an app whose document no longer has the redirect URI',
    expectedOutcome: INVALID_GRANT,
    run: (scene, isHostile) =>
      exchangeAfterChange(scene, isHostile, { redirect_uris: ['https://claude.com/api/mcp/auth_callback'] }),
  },
  {
    description: 'a code of an app whose document now has another id',
    expectedOutcome: INVALID_CLIENT,
    run: (scene, isHostile) =>
      exchangeAfterChange(scene, isHostile, { client_id: 'https://evil.example/app' }),
  },
  {
    description: 'a refresh token of another app',
    expectedOutcome: INVALID_GRANT,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      await scene.startCountingGrants()
      const thief = isHostile ? scene.otherApp : app
      return useTokens(thief, await thief.refresh(refreshToken))
    },
  },
  {
    description: 'a used refresh token of another app, within the grace period',
    expectedOutcome: INVALID_GRANT,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      await app.refresh(refreshToken)
      await scene.startCountingGrants()
      const thief = isHostile ? scene.otherApp : app
      return useTokens(thief, await thief.refresh(refreshToken))
    },
  },
  {
    description: 'a used refresh token after the grace period',
    expectedOutcome: INVALID_GRANT,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      await app.refresh(refreshToken)
      await ageUsedRefreshTokens(scene, isHostile ? 61 : 50)
      await scene.startCountingGrants()
      return useTokens(app, await app.refresh(refreshToken))
    },
  },
  {
    description: 'the newest refresh token after an old one was used again',
    expectedOutcome: INVALID_GRANT,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      const { refresh_token: newest = '' } = await app.refresh(refreshToken)
      await ageUsedRefreshTokens(scene, isHostile ? 61 : 0)
      await scene.startCountingGrants()
      await app.refresh(refreshToken)
      return useTokens(app, await app.refresh(newest))
    },
  },
  {
    description: 'the newest access token after an old refresh token was used again',
    expectedOutcome: UNAUTHORIZED,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      const { access_token: token = '' } = await app.refresh(refreshToken)
      await ageUsedRefreshTokens(scene, isHostile ? 61 : 0)
      await scene.startCountingGrants()
      await app.refresh(refreshToken)
      return useToken(app, token)
    },
  },
  {
    description: 'a refresh token after the person ended the access',
    expectedOutcome: INVALID_GRANT,
    async run(scene, isHostile) {
      const { app, person, refreshToken } = await scene.connect()
      if (isHostile) await person.revokeAllAccess()
      await scene.startCountingGrants()
      return useTokens(app, await app.refresh(refreshToken))
    },
  },
  {
    description: 'a refresh token that the app revoked',
    expectedOutcome: INVALID_GRANT,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      if (isHostile) await app.revoke(refreshToken)
      await scene.startCountingGrants()
      return useTokens(app, await app.refresh(refreshToken))
    },
  },
  {
    description: 'an access token after the app revoked its refresh token',
    expectedOutcome: UNAUTHORIZED,
    async run(scene, isHostile) {
      const { app, refreshToken, accessToken } = await scene.connect()
      await scene.startCountingGrants()
      if (isHostile) await app.revoke(refreshToken)
      return useToken(app, accessToken)
    },
  },
  {
    description: 'an access token that the app revoked',
    expectedOutcome: UNAUTHORIZED,
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      await scene.startCountingGrants()
      if (isHostile) await app.revoke(accessToken)
      return useToken(app, accessToken)
    },
  },
  {
    description: 'a refresh token for another resource',
    expectedOutcome: INVALID_TARGET,
    run: refreshWith(() => ({ resource: 'https://other.example/mcp' })),
  },
  {
    description: 'a refresh token for the API',
    expectedOutcome: INVALID_TARGET,
    run: refreshWith(({ origin }) => ({ resource: `${origin}/api` })),
  },
  {
    description: 'a refresh token as an access token',
    expectedOutcome: UNAUTHORIZED,
    async run(scene, isHostile) {
      const { app, accessToken, refreshToken } = await scene.connect()
      await scene.startCountingGrants()
      return useToken(app, isHostile ? refreshToken : accessToken)
    },
  },
  {
    description: 'an access token as a refresh token',
    expectedOutcome: INVALID_GRANT,
    async run(scene, isHostile) {
      const { app, accessToken, refreshToken } = await scene.connect()
      await scene.startCountingGrants()
      return useTokens(app, await app.refresh(isHostile ? accessToken : refreshToken))
    },
  },
  {
    description: 'the grant type for agents, used by an app',
    expectedOutcome: INVALID_CLIENT,
    run: exchangeWith(() => ({ grant_type: 'client_credentials', code: undefined })),
  },
  {
    description: 'an unknown grant type',
    expectedOutcome: INVALID_CLIENT,
    run: exchangeWith(() => ({ grant_type: 'password', username: 'a', password: 'b' })),
  },
  {
    description: 'a code with a secret, which the app does not have',
    expectedOutcome: INVALID_CLIENT,
    run: exchangeWith({ client_secret: 'guessed' }),
  },
  {
    description: 'a code without client_id',
    expectedOutcome: INVALID_CLIENT,
    run: exchangeWith({ client_id: undefined }),
  },
  {
    description: 'a code of an app, redeemed by an agent with its secret',
    expectedOutcome: { at: 'api', status: 400 },
    async run(scene, isHostile) {
      const { authorization, callback } = await obtainCode(scene)
      const agent = await scene.registerAgent()
      await scene.startCountingGrants()
      if (!isHostile) return useTokens(scene.app, await scene.app.exchange(authorization, callback))
      const content = form({
        grant_type: 'authorization_code',
        code: callback.searchParams.get('code') ?? '',
        redirect_uri: CLAUDE_URI,
        code_verifier: authorization.verifier,
      })
      const headers = { ...content.headers, ...basic(agent.client_id, agent.client_secret) }
      return toApiOutcome(
        await scene.sender.send({ method: 'POST', path: '/oauth/token', body: content.body, headers }),
      )
    },
  },
  {
    description: 'a person’s token at the API',
    expectedOutcome: { at: 'api', status: 401 },
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      await scene.startCountingGrants()
      if (!isHostile) return useToken(app, accessToken)
      return toApiOutcome(
        await scene.sender.send({ path: '/api/guides', headers: { authorization: `Bearer ${accessToken}` } }),
      )
    },
  },
  {
    description: 'a person’s token at the MCP address for agents',
    expectedOutcome: UNAUTHORIZED,
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      await scene.startCountingGrants()
      const path = isHostile ? '/api/mcp' : '/mcp'
      const { status } = await app.sendMessage({ method: 'tools/list' }, { token: accessToken, path })
      return status === 200 ? { at: 'granted' } : { at: 'mcp', status }
    },
  },
  {
    description: 'an agent’s token at the signed-in MCP address',
    expectedOutcome: UNAUTHORIZED,
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      const agent = await scene.registerAgent()
      const content = form({ grant_type: 'client_credentials' })
      const headers = { ...content.headers, ...basic(agent.client_id, agent.client_secret) }
      const { text } = await scene.sender.send({ method: 'POST', path: '/oauth/token', ...content, headers })
      const { access_token: agentToken } = JSON.parse(text) as { access_token: string }
      await scene.startCountingGrants()
      return useToken(app, isHostile ? agentToken : accessToken)
    },
  },
  {
    description: 'a token in the query instead of the header',
    expectedOutcome: { at: 'mcp', status: 400 },
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      await scene.startCountingGrants()
      if (!isHostile) return useToken(app, accessToken)
      const { status } = await app.sendMessage(
        { method: 'tools/list' },
        { path: `/mcp?access_token=${accessToken}` },
      )
      return { at: 'mcp', status }
    },
  },
  {
    description: 'the revocation of an access token by another app',
    expectedOutcome: { at: 'api', status: 400, error: 'foreign-token' },
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      await scene.startCountingGrants()
      const response = isHostile ? await scene.otherApp.revoke(accessToken) : undefined
      const outcome = await useToken(app, accessToken)
      return response && outcome.at === 'granted' ? toApiOutcome(response) : outcome
    },
  },
]

/** Redeems a code when the app's document has to be fetched again. If the step is hostile, the document has changed. */
async function exchangeAfterChange(scene: Scene, isHostile: boolean, changes: object): Promise<Outcome> {
  const { url, setDocument } = publishDocument(scene.documents, (id) => createAppDocument(id))
  const clientField = { client_id: url }
  const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI, changes: clientField })
  const callback = await scene.createPerson().signIn(authorization.url)
  if (isHostile) setDocument(createAppDocument(url, changes))
  await scene.db.query(
    `update app_clients set document_fetched_at = now() - interval '2 days', document_expires_at = now() - interval '1 day'
     where id = $1`,
    [url],
  )
  await scene.startCountingGrants()
  return useTokens(scene.app, await scene.app.exchange(authorization, callback, clientField))
}
