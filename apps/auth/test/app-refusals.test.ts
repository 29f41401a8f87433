import { AgentKey } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basic, getToken, isActive, register } from './agent-client.ts'
import {
  type AppsUnderTest,
  activeAt,
  addApp,
  connect,
  connectionOf,
  expectEnded,
  getCode,
  post,
  redeemCode,
  refresh,
  startApps,
  tokensIn,
} from './app-flow.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem, expectRefusal, type Refusal } from './expect-refusal.ts'
import { assertionFields, assertionOf, newKey } from './key-agent.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import type { HttpResponse } from './send.ts'
import { ORIGIN } from './start-auth.ts'

const invalidGrant: Refusal = { status: 400, code: 'invalid-grant', error: 'invalid_grant' }
const invalidClient: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }

describe.for(TOKEN_PLACES)('an app that a person connected, tokens in %s,', (tokens) => {
  let under: AppsUnderTest
  beforeAll(async () => {
    under = await startApps(tokens)
  })
  afterAll(async () => {
    await expectNothingInClear(under.auth)
    await under[Symbol.asyncDispose]()
  })

  describe('is refused', () => {
    test('tokens when its document has lost the redirect URI since the code was issued', async () => {
      const client = addApp(under)
      const code = await getCode(under, client)
      under.apps.set(client.id, { ...client, redirectUris: ['https://host.example/new'] })
      await expectRefusal(under.auth, () => redeemCode(under.auth, client, code), invalidGrant)
      under.apps.set(client.id, client)
      tokensIn(under.auth, await redeemCode(under.auth, client, code))
    })

    test('tokens when the app is removed', async () => {
      const { app: client, refresh: token } = await connect(under)
      under.apps.delete(client.id)
      await expectRefusal(under.auth, () => refresh(under.auth, client, token), invalidClient)
      under.apps.set(client.id, client)
      tokensIn(under.auth, await refresh(under.auth, client, token))
    })

    test('tokens without an assertion when its document now requires private_key_jwt', async () => {
      const client = addApp(under, { id: 'https://host.example/client.json', source: 'document' })
      const code = await getCode(under, client)
      const key = await newKey()
      const keys = [AgentKey.parse({ ...key.jwk, alg: key.alg, use: 'sig' })]
      under.apps.set(client.id, { ...client, authMethod: 'private_key_jwt', keys })
      const assertion = async (claims = {}, by = key) => {
        const iat = Math.floor(under.clock.now.getTime() / 1000)
        const signer = { client_id: client.id, key: by }
        return assertionFields(await assertionOf(under.auth, signer, { iat, exp: iat + 60, ...claims }))
      }
      await expectRefusal(under.auth, () => redeemCode(under.auth, client, code), invalidClient)
      const foreign = await assertion({}, await newKey())
      await expectRefusal(under.auth, () => redeemCode(under.auth, client, code, foreign), invalidClient)
      const elsewhere = await assertion({ aud: 'https://other.example' })
      await expectRefusal(under.auth, () => redeemCode(under.auth, client, code, elsewhere), invalidClient)
      const proof = await assertion()
      const { refresh: token } = tokensIn(under.auth, await redeemCode(under.auth, client, code, proof))
      expectProblem(await refresh(under.auth, client, token, proof), invalidClient)
      const other = await assertion({ aud: `${ORIGIN}/oauth/token` })
      tokensIn(under.auth, await refresh(under.auth, client, token, other))
    })

    test('authentication as its connection, with any secret', async () => {
      const { access } = await connect(under)
      const { agentId } = await connectionOf(under, access)
      for (const secret of ['x', 'no client has this secret', agentId]) {
        const answer = await post(under.auth, '/oauth/token', {
          grant_type: 'client_credentials',
          client_id: agentId,
          client_secret: secret,
        })
        expectProblem(answer, invalidClient)
      }
    })

    test('the credentials of an agent', async () => {
      const client = addApp(under)
      const code = await getCode(under, client)
      const agent = await register(under.auth)
      const credentials = basic(agent.client_id, agent.client_secret)
      const answer = await fetch(new URL('/oauth/token', under.auth.url), {
        method: 'POST',
        headers: credentials,
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          client_id: client.id,
          code: code.code,
        }),
      })
      expect(answer.status).toBe(401)
      // Agents are served as before.
      expect(await isActive(under.auth, await getToken(under.auth, agent))).toBe(true)
    })
  })

  describe('can revoke', () => {
    const revokeToken = (client: { id: string }, token: string): Promise<HttpResponse> =>
      post(under.auth, '/oauth/revoke', { client_id: client.id, token })

    test('its access token alone', async () => {
      const connected = await connect(under)
      expect(await revokeToken(connected.app, connected.access)).toMatchObject({ status: 200, text: '{}' })
      await expectEnded(under, connected)
      const next = tokensIn(under.auth, await refresh(under.auth, connected.app, connected.refresh))
      expect(await activeAt(under, next.access)).toEqual([true, true])
    })

    test('the connection, with its refresh token', async () => {
      const connected = await connect(under)
      const { verificationId } = await connectionOf(under, connected.access)
      expect(await revokeToken(connected.app, connected.refresh)).toMatchObject({ status: 200, text: '{}' })
      await expectEnded(under, connected)
      expect(await under.stores.verifications.find(verificationId)).toMatchObject({ endedBy: 'agent' })
      expect(await revokeToken(connected.app, connected.refresh)).toMatchObject({ status: 200 })
    })

    test('neither tokens of another app nor those of an agent', async () => {
      const [connected, other] = [await connect(under), addApp(under)]
      const agents = await getToken(under.auth, await register(under.auth))
      for (const token of [connected.access, connected.refresh, agents])
        expectProblem(await revokeToken(other, token), { status: 400, code: 'foreign-token' })
      expect(await activeAt(under, connected.access)).toEqual([true, true])
      expect(await activeAt(under, agents)).toEqual([true, true])
      tokensIn(under.auth, await refresh(under.auth, connected.app, connected.refresh))
    })

    test('an unknown token, without an error', async () => {
      for (const token of [`ppt_${'A'.repeat(43)}`, `ppr_${'A'.repeat(43)}`, 'x'])
        expect(await revokeToken(addApp(under), token)).toMatchObject({ status: 200 })
      expectProblem(await revokeToken({ id: 'app_none' }, 'x'), invalidClient)
    })
  })
})
