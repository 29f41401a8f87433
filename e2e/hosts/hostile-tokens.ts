import { basic, form } from '../send.ts'
import type { App, Authorization, Fields } from './app.ts'
import { documentFor } from './hostile-authorizations.ts'
import { publishDocument } from './publish-document.ts'
import { atApi, CLAUDE_URI, type HostileRow, type Outcome, type Scene, useToken, useTokens } from './scene.ts'

/** Lets a person sign in. Returns the callback, whose code the app has not redeemed. */
async function obtainCode(scene: Scene, app: App = scene.app) {
  const person = scene.person()
  const authorization = app.authorize({ redirectUri: CLAUDE_URI })
  return { person, authorization, callback: await person.signIn(authorization.url) }
}

/** Redeems a code with changes. */
const exchangeWith =
  (hostile: Fields | ((scene: Scene, authorization: Authorization) => Fields)) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { authorization, callback } = await obtainCode(scene)
    const changes = typeof hostile === 'function' ? hostile(scene, authorization) : hostile
    await scene.attack()
    return useTokens(scene.app, await scene.app.exchange(authorization, callback, isHostile ? changes : {}))
  }

/** Refreshes with changes. */
const refreshWith =
  (hostile: (scene: Scene) => Fields) =>
  async (scene: Scene, isHostile: boolean): Promise<Outcome> => {
    const { app, refreshToken } = await scene.connect()
    await scene.attack()
    return useTokens(app, await app.refresh(refreshToken, isHostile ? hostile(scene) : {}))
  }

/** Makes every used refresh token look as if it was used earlier. */
const ageRefreshes = (scene: Scene, seconds: number) =>
  scene.db.query(
    `update oauth_records set consumed_at = consumed_at - make_interval(secs => $1)
     where id like 'RefreshToken:%' and consumed_at is not null`,
    [seconds],
  )

const invalidGrant = { at: 'token', status: 400, error: 'invalid_grant' } as const
const invalidTarget = { at: 'token', status: 400, error: 'invalid_target' } as const
const invalidClient = { at: 'token', status: 401, error: 'invalid_client' } as const
const unauthorized = { at: 'mcp', status: 401 } as const

export const HOSTILE_TOKENS: readonly HostileRow[] = [
  {
    what: 'a code that was redeemed',
    refused: invalidGrant,
    async run(scene, isHostile) {
      const { authorization, callback } = await obtainCode(scene)
      if (isHostile) await scene.app.exchange(authorization, callback)
      await scene.attack()
      return useTokens(scene.app, await scene.app.exchange(authorization, callback))
    },
  },
  {
    what: 'the token of a code that was redeemed twice',
    refused: unauthorized,
    async run(scene, isHostile) {
      const { authorization, callback } = await obtainCode(scene)
      const { access_token: token = '' } = await scene.app.exchange(authorization, callback)
      await scene.attack()
      if (isHostile) await scene.app.exchange(authorization, callback)
      return useToken(scene.app, token)
    },
  },
  {
    what: 'a code of another app',
    refused: invalidGrant,
    async run(scene, isHostile) {
      const { authorization, callback } = await obtainCode(scene)
      await scene.attack()
      const app = isHostile ? scene.other : scene.app
      return useTokens(app, await app.exchange(authorization, callback))
    },
  },
  {
    what: 'a code without the verifier',
    refused: invalidGrant,
    run: exchangeWith({ code_verifier: undefined }),
  },
  {
    what: 'a code with another verifier',
    refused: invalidGrant,
    run: exchangeWith({ code_verifier: 'A'.repeat(43) }),
  },
  {
    what: 'a code with the challenge as the verifier',
    refused: invalidGrant,
    run: exchangeWith((_scene, { url }) => ({ code_verifier: url.searchParams.get('code_challenge') ?? '' })),
  },
  {
    what: 'a code with another redirect URI of the list',
    refused: invalidGrant,
    run: exchangeWith({ redirect_uri: 'https://claude.com/api/mcp/auth_callback' }),
  },
  {
    what: 'a code with no redirect URI',
    refused: { at: 'token', status: 400, error: 'invalid_request' },
    run: exchangeWith({ redirect_uri: undefined }),
  },
  {
    what: 'a code for another resource',
    refused: invalidTarget,
    run: exchangeWith({ resource: 'https://other.example/mcp' }),
  },
  {
    what: 'a code for the API of agents',
    refused: invalidTarget,
    run: exchangeWith(({ origin }) => ({ resource: `${origin}/api` })),
  },
  {
    what: 'a code after its minute',
    refused: invalidGrant,
    async run(scene, isHostile) {
      const { authorization, callback } = await obtainCode(scene)
      if (isHostile)
        await scene.db.query(
          `update oauth_records set expires_at = now() - interval '1 second' where id like 'AuthorizationCode:%'`,
        )
      await scene.attack()
      return useTokens(scene.app, await scene.app.exchange(authorization, callback))
    },
  },
  {
    what: 'a code after the person ended the access',
    refused: invalidGrant,
    async run(scene, isHostile) {
      const { person, authorization, callback } = await obtainCode(scene)
      if (isHostile) await person.endEverything()
      await scene.attack()
      return useTokens(scene.app, await scene.app.exchange(authorization, callback))
    },
  },
  {
    what: 'a code of an app whose document no longer returns there',
    refused: invalidGrant,
    run: (scene, isHostile) =>
      afterDocumentChanged(scene, isHostile, {
        redirect_uris: ['https://claude.com/api/mcp/auth_callback'],
      }),
  },
  {
    what: 'a code of an app whose document now has another id',
    refused: invalidClient,
    run: (scene, isHostile) =>
      afterDocumentChanged(scene, isHostile, { client_id: 'https://evil.example/app' }),
  },
  {
    what: 'a refresh token of another app',
    refused: invalidGrant,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      await scene.attack()
      const thief = isHostile ? scene.other : app
      return useTokens(thief, await thief.refresh(refreshToken))
    },
  },
  {
    what: 'a used refresh token of another app, within the grace',
    refused: invalidGrant,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      await app.refresh(refreshToken)
      await scene.attack()
      const thief = isHostile ? scene.other : app
      return useTokens(thief, await thief.refresh(refreshToken))
    },
  },
  {
    what: 'a used refresh token after the grace',
    refused: invalidGrant,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      await app.refresh(refreshToken)
      await ageRefreshes(scene, isHostile ? 61 : 50)
      await scene.attack()
      return useTokens(app, await app.refresh(refreshToken))
    },
  },
  {
    what: 'the newest refresh token after an old one was used again',
    refused: invalidGrant,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      const { refresh_token: newest = '' } = await app.refresh(refreshToken)
      await ageRefreshes(scene, isHostile ? 61 : 0)
      await scene.attack()
      await app.refresh(refreshToken)
      return useTokens(app, await app.refresh(newest))
    },
  },
  {
    what: 'the newest access token after an old refresh token was used again',
    refused: unauthorized,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      const { access_token: token = '' } = await app.refresh(refreshToken)
      await ageRefreshes(scene, isHostile ? 61 : 0)
      await scene.attack()
      await app.refresh(refreshToken)
      return useToken(app, token)
    },
  },
  {
    what: 'a refresh token after the person ended the access',
    refused: invalidGrant,
    async run(scene, isHostile) {
      const { app, person, refreshToken } = await scene.connect()
      if (isHostile) await person.endEverything()
      await scene.attack()
      return useTokens(app, await app.refresh(refreshToken))
    },
  },
  {
    what: 'a refresh token after the app gave it up',
    refused: invalidGrant,
    async run(scene, isHostile) {
      const { app, refreshToken } = await scene.connect()
      if (isHostile) await app.revoke(refreshToken)
      await scene.attack()
      return useTokens(app, await app.refresh(refreshToken))
    },
  },
  {
    what: 'an access token after the app gave up its refresh token',
    refused: unauthorized,
    async run(scene, isHostile) {
      const { app, refreshToken, accessToken } = await scene.connect()
      await scene.attack()
      if (isHostile) await app.revoke(refreshToken)
      return useToken(app, accessToken)
    },
  },
  {
    what: 'an access token that the app revoked',
    refused: unauthorized,
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      await scene.attack()
      if (isHostile) await app.revoke(accessToken)
      return useToken(app, accessToken)
    },
  },
  {
    what: 'a refresh token for another resource',
    refused: invalidTarget,
    run: refreshWith(() => ({ resource: 'https://other.example/mcp' })),
  },
  {
    what: 'a refresh token for the API of agents',
    refused: invalidTarget,
    run: refreshWith(({ origin }) => ({ resource: `${origin}/api` })),
  },
  {
    what: 'a refresh token as an access token',
    refused: unauthorized,
    async run(scene, isHostile) {
      const { app, accessToken, refreshToken } = await scene.connect()
      await scene.attack()
      return useToken(app, isHostile ? refreshToken : accessToken)
    },
  },
  {
    what: 'an access token as a refresh token',
    refused: invalidGrant,
    async run(scene, isHostile) {
      const { app, accessToken, refreshToken } = await scene.connect()
      await scene.attack()
      return useTokens(app, await app.refresh(isHostile ? accessToken : refreshToken))
    },
  },
  {
    what: 'the grant of agents, as an app',
    refused: invalidClient,
    run: exchangeWith(() => ({ grant_type: 'client_credentials', code: undefined })),
  },
  {
    what: 'a grant that does not exist',
    refused: invalidClient,
    run: exchangeWith(() => ({ grant_type: 'password', username: 'a', password: 'b' })),
  },
  {
    what: 'a code with a secret, which the app does not have',
    refused: invalidClient,
    run: exchangeWith({ client_secret: 'guessed' }),
  },
  {
    what: 'a code without an app',
    refused: invalidClient,
    run: exchangeWith({ client_id: undefined }),
  },
  {
    what: 'a code as an agent with its own secret',
    refused: { at: 'api', status: 400 },
    async run(scene, isHostile) {
      const { authorization, callback } = await obtainCode(scene)
      const agent = await scene.registerAgent()
      await scene.attack()
      if (!isHostile) return useTokens(scene.app, await scene.app.exchange(authorization, callback))
      const content = form({
        grant_type: 'authorization_code',
        code: callback.searchParams.get('code') ?? '',
        redirect_uri: CLAUDE_URI,
        code_verifier: authorization.verifier,
      })
      const headers = { ...content.headers, ...basic(agent.client_id, agent.client_secret) }
      return atApi(
        await scene.sender.send({ method: 'POST', path: '/oauth/token', body: content.body, headers }),
      )
    },
  },
  {
    what: 'a person’s token at the API of agents',
    refused: { at: 'api', status: 401 },
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      await scene.attack()
      if (!isHostile) return useToken(app, accessToken)
      return atApi(
        await scene.sender.send({ path: '/api/guides', headers: { authorization: `Bearer ${accessToken}` } }),
      )
    },
  },
  {
    what: 'a person’s token at the MCP address of agents',
    refused: unauthorized,
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      await scene.attack()
      const path = isHostile ? '/api/mcp' : '/mcp'
      const { status } = await app.mcp({ method: 'tools/list' }, { token: accessToken, path })
      return status === 200 ? { at: 'granted' } : { at: 'mcp', status }
    },
  },
  {
    what: 'the token of an agent at the MCP address of people',
    refused: unauthorized,
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      const agent = await scene.registerAgent()
      const content = form({ grant_type: 'client_credentials' })
      const headers = { ...content.headers, ...basic(agent.client_id, agent.client_secret) }
      const { text } = await scene.sender.send({
        method: 'POST',
        path: '/oauth/token',
        body: content.body,
        headers,
      })
      const { access_token: agentToken } = JSON.parse(text) as { access_token: string }
      await scene.attack()
      return useToken(app, isHostile ? agentToken : accessToken)
    },
  },
  {
    what: 'a token in the address, not in the header',
    refused: { at: 'mcp', status: 400 },
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      await scene.attack()
      if (!isHostile) return useToken(app, accessToken)
      const { status } = await app.mcp({ method: 'tools/list' }, { path: `/mcp?access_token=${accessToken}` })
      return { at: 'mcp', status }
    },
  },
  {
    what: 'the revocation of an access token by another app, which the token survives',
    refused: { at: 'api', status: 400, error: 'foreign-token' },
    async run(scene, isHostile) {
      const { app, accessToken } = await scene.connect()
      await scene.attack()
      const response = isHostile ? await scene.other.revoke(accessToken) : undefined
      const outcome = await useToken(app, accessToken)
      return response && outcome.at === 'granted' ? atApi(response) : outcome
    },
  },
]

/** Redeems a code after the document of its app has changed and must be fetched again. */
async function afterDocumentChanged(scene: Scene, isHostile: boolean, changes: object): Promise<Outcome> {
  const { url, change } = publishDocument(scene.documents, (id) => documentFor(id))
  const clientId = { client_id: url }
  const authorization = scene.app.authorize({ redirectUri: CLAUDE_URI, changes: clientId })
  const callback = await scene.person().signIn(authorization.url)
  if (isHostile) change(documentFor(url, changes))
  await scene.db.query(
    `update app_clients set document_fetched_at = now() - interval '2 days', document_expires_at = now() - interval '1 day'
     where id = $1`,
    [url],
  )
  await scene.attack()
  return useTokens(scene.app, await scene.app.exchange(authorization, callback, clientId))
}
