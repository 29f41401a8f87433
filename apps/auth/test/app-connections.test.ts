import { RULES } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { deactivateAgent } from '../src/agents/deactivate-agent.ts'
import type { AppClient } from '../src/app-clients/app-client.ts'
import { revokeInEmergency } from '../src/tokens/emergency-revocation.ts'
import { introspect, isActive, register, requestToken } from './agent-client.ts'
import {
  type AppSystem,
  type AppTokens,
  addApp,
  connectApp,
  expectRevoked,
  findConnectionIds,
  getCode,
  introspectToken,
  isActiveAtEachInstance,
  RESOURCE,
  readTokens,
  redeemCode,
  refresh,
  startAppSystem,
} from './app-flow.ts'
import { copyRefreshToken } from './copy-refresh-token.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, expectRefusal, INVALID_GRANT, type Refusal } from './expect-refusal.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { ORIGIN } from './start-auth.ts'

const invalidClient: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }
const invalidTarget: Refusal = { status: 400, code: 'invalid-target', error: 'invalid_target' }
const unavailable: Refusal = { status: 503, code: 'unavailable', error: 'temporarily_unavailable' }

describe.for(TOKEN_STORES)('an app that a person connected, tokens in %s,', (tokenStore) => {
  let system: AppSystem
  beforeAll(async () => {
    system = await startAppSystem(tokenStore)
  })
  afterAll(async () => {
    await expectNoConfidentialValues(system.auth)
    await system[Symbol.asyncDispose]()
  })

  const passTime = (ms: number) => {
    system.clock.now = new Date(system.clock.now.getTime() + ms)
  }

  test('gets tokens for a code, and introspection returns the connection and the resource to our API only', async () => {
    const client = addApp(system)
    const code = await getCode(system, client)
    expect(code.callbackUrl.origin + code.callbackUrl.pathname).toBe(client.redirectUris[0])
    expect(Object.fromEntries(code.callbackUrl.searchParams)).toEqual({
      code: code.code,
      iss: ORIGIN,
      state: code.state,
    })
    const response = await redeemCode(system.auth, client, code)
    const { access } = readTokens(system.auth, response)
    expect(JSON.parse(response.text)).toEqual({
      access_token: access,
      refresh_token: expect.any(String),
      expires_in: 8 * 3600,
      scope: 'contact:write',
      token_type: 'Bearer',
    })
    expect(response.headers.get('cache-control')).toBe('no-store')
    const content = await introspectToken(system, access)
    expect(content).toMatchObject({
      active: true,
      aud: RESOURCE,
      client_id: expect.stringMatching(/^agt_[A-Za-z0-9_-]{22}$/),
      scope: 'contact:write',
      identity_type: 'verified_email',
      email_verified: true,
      registration_id: expect.stringMatching(/^clm_/),
    })
    expect(content).not.toHaveProperty('sub')
    expect(await isActiveAtEachInstance(system, access)).toEqual([true, true])
    const otherApi = await introspect(system.auth, access, 'rs_other')
    expect(otherApi.payload.token_introspection).toEqual({ active: false })
  })

  test('has a separate connection for each sign-in', async () => {
    const [firstTokens, secondTokens] = [await connectApp(system), await connectApp(system)]
    expect((await findConnectionIds(system, firstTokens.access)).agentId).not.toBe(
      (await findConnectionIds(system, secondTokens.access)).agentId,
    )
  })

  describe('a code', () => {
    test.for<[string, Record<string, string | undefined>, Refusal]>([
      ['without a verifier', { code_verifier: undefined }, INVALID_GRANT],
      ['with another verifier', { code_verifier: 'x'.repeat(43) }, INVALID_GRANT],
      // The test replaces this value by the challenge of the code.
      ['with the challenge as the verifier', { code_verifier: 'challenge' }, INVALID_GRANT],
      [
        'with a redirect URI that the app does not have',
        { redirect_uri: 'https://evil.example/' },
        INVALID_GRANT,
      ],
      ['with another redirect URI of the app', { redirect_uri: 'https://host.example/other' }, INVALID_GRANT],
      ['without a redirect URI', { redirect_uri: undefined }, { status: 400, code: 'invalid-request' }],
      ['for the API', { resource: `${ORIGIN}/api` }, invalidTarget],
      ['for another resource', { resource: 'https://other.example/mcp' }, invalidTarget],
      ['with a client secret', { client_secret: 'x' }, invalidClient],
    ])('%s is refused, and can still be used', async ([, change, refusal]) => {
      const client = addApp(system, {
        redirectUris: ['https://host.example/callback', 'https://host.example/other'],
      })
      const code = await getCode(system, client)
      const fields = change['code_verifier'] === 'challenge' ? { code_verifier: code.challenge } : change
      await expectRefusal(system.auth, () => redeemCode(system.auth, client, code, fields), refusal)
      readTokens(system.auth, await redeemCode(system.auth, client, code))
    })

    test('is refused if it was issued to another app', async () => {
      const [client, otherApp] = [addApp(system), addApp(system)]
      const code = await getCode(system, client)
      await expectRefusal(system.auth, () => redeemCode(system.auth, otherApp, code), INVALID_GRANT)
      readTokens(system.auth, await redeemCode(system.auth, client, code))
    })

    test.for([undefined, '', RESOURCE, `${RESOURCE}/`])(
      'is accepted with the resource %o',
      async (resource) => {
        const client = addApp(system)
        const code = await getCode(system, client, { resource })
        const { access } = readTokens(system.auth, await redeemCode(system.auth, client, code, { resource }))
        expect(await introspectToken(system, access)).toMatchObject({ aud: RESOURCE })
      },
    )

    test('is refused the second time, and then the connection is revoked', async () => {
      const client = addApp(system)
      const code = await getCode(system, client)
      const appTokens = readTokens(system.auth, await redeemCode(system.auth, client, code))
      const { verificationId } = await findConnectionIds(system, appTokens.access)
      expectProblem(await redeemCode(system.otherInstance, client, code), INVALID_GRANT)
      await expectRevoked(system, appTokens)
      expectProblem(await refresh(system.auth, client, appTokens.refresh), INVALID_GRANT)
      expect(await system.stores.verifications.find(verificationId)).toMatchObject({ endedBy: 'reused' })
    })

    test('is exchanged at most once by simultaneous requests, and the tokens are then revoked', async () => {
      const client = addApp(system)
      const code = await getCode(system, client)
      const responses = await Promise.all(
        [system.auth, system.otherInstance, system.auth, system.otherInstance].map((instance) =>
          redeemCode(instance, client, code),
        ),
      )
      const successes = responses.filter(({ status }) => status === 200)
      expect(successes.length).toBeLessThanOrEqual(1)
      for (const response of responses.filter(({ status }) => status !== 200))
        expectProblem(response, INVALID_GRANT)
      for (const response of successes) await expectRevoked(system, readTokens(system.auth, response))
    })

    test('can still be used after a request for which the access token could not be stored', async () => {
      const client = addApp(system)
      const code = await getCode(system, client)
      // These are the stores of `otherInstance`.
      vi.spyOn(system.stores.tokens, 'save').mockRejectedValueOnce(new Problem('unavailable'))
      expectProblem(await redeemCode(system.otherInstance, client, code), unavailable)
      const appTokens = readTokens(system.auth, await redeemCode(system.otherInstance, client, code))
      expect(await isActiveAtEachInstance(system, appTokens.access)).toEqual([true, true])
    })

    test('expires after a minute', async () => {
      const client = addApp(system)
      const [expired, valid] = [await getCode(system, client), await getCode(system, client)]
      passTime(59_000)
      readTokens(system.auth, await redeemCode(system.auth, client, valid))
      passTime(2_000)
      await expectRefusal(system.auth, () => redeemCode(system.auth, client, expired), INVALID_GRANT)
    })

    test('is refused to an agent', async () => {
      const client = addApp(system)
      const code = await getCode(system, client)
      const agent = await register(system.auth)
      const response = await requestToken(system.auth, agent, {
        grant_type: 'authorization_code',
        code: code.code,
        redirect_uri: client.redirectUris[0] ?? '',
        code_verifier: code.verifier,
      })
      expectProblem(response, { status: 400, code: 'unauthorized-client', error: 'unauthorized_client' })
      readTokens(system.auth, await redeemCode(system.auth, client, code))
    })
  })

  describe('a refresh token', () => {
    test('is replaced at each use, with or without a resource, and earlier access tokens stay active', async () => {
      let { app: client, ...currentTokens } = await connectApp(system)
      const { agentId } = await findConnectionIds(system, currentTokens.access)
      for (const resource of [RESOURCE, undefined, `${RESOURCE}/`]) {
        const nextTokens = readTokens(
          system.auth,
          await refresh(system.otherInstance, client, currentTokens.refresh, { resource }),
        )
        expect(nextTokens.refresh).not.toBe(currentTokens.refresh)
        expect(await introspectToken(system, nextTokens.access)).toMatchObject({
          client_id: agentId,
          aud: RESOURCE,
        })
        expect(await isActive(system.auth, currentTokens.access)).toBe(true)
        currentTokens = nextTokens
      }
    })

    test('is accepted from two simultaneous requests, and once more after a minute', async () => {
      const { app: client, refresh: token } = await connectApp(system)
      const responses = await Promise.all(
        [system.auth, system.otherInstance].map((instance) => refresh(instance, client, token)),
      )
      passTime(RULES.refreshGraceMs)
      responses.push(await refresh(system.auth, client, token))
      for (const response of responses) {
        const nextTokens = readTokens(system.auth, response)
        expect(await isActiveAtEachInstance(system, nextTokens.access)).toEqual([true, true])
        readTokens(system.auth, await refresh(system.otherInstance, client, nextTokens.refresh))
      }
    })

    test('is refused if it is used again after more than a minute, and then the connection is revoked', async () => {
      const firstTokens = await connectApp(system)
      const { app: client } = firstTokens
      const { agentId, verificationId } = await findConnectionIds(system, firstTokens.access)
      const nextTokens = readTokens(system.auth, await refresh(system.auth, client, firstTokens.refresh))
      passTime(RULES.refreshGraceMs + 1)
      expectProblem(await refresh(system.otherInstance, client, firstTokens.refresh), INVALID_GRANT)
      await expectRevoked(system, firstTokens)
      await expectRevoked(system, nextTokens)
      expectProblem(await refresh(system.auth, client, nextTokens.refresh), INVALID_GRANT)
      expect(await system.stores.verifications.find(verificationId)).toMatchObject({
        agentId,
        endedBy: 'reused',
      })
    })

    test('is refused, without ending the connection, once the connection has 1,000 of them', async () => {
      const connected = await connectApp(system)
      const { db } = system.auth.testbed
      const storedId = await copyRefreshToken(db, connected.refresh, RULES.refreshTokens - 1)
      for (const ms of [0, RULES.refreshGraceMs + 1]) {
        passTime(ms)
        await expectRefusal(
          system.auth,
          () => refresh(system.auth, connected.app, connected.refresh),
          INVALID_GRANT,
        )
      }
      expect(await isActiveAtEachInstance(system, connected.access)).toEqual([true, true])
      await db.query(
        `delete from oauth_records where id = (select id from oauth_records where id <> $1
           and grant_id = (select grant_id from oauth_records where id = $1) and id like 'RefreshToken:%' limit 1)`,
        [storedId],
      )
      readTokens(system.auth, await refresh(system.auth, connected.app, connected.refresh))
    })

    test('is refused to another app, and stays valid for its own', async () => {
      const connected = await connectApp(system)
      const otherApp = addApp(system)
      for (const ms of [0, RULES.refreshGraceMs + 1]) {
        passTime(ms)
        await expectRefusal(
          system.auth,
          () => refresh(system.auth, otherApp, connected.refresh),
          INVALID_GRANT,
        )
      }
      readTokens(system.auth, await refresh(system.auth, connected.app, connected.refresh))
    })

    test.for<[string, (token: string) => string]>([
      ['an unknown refresh token', () => `ppr_${'A'.repeat(43)}`],
      ['an access token', () => `ppt_${'A'.repeat(43)}`],
      ['a refresh token with another letter at its end', (token) => `${token}A`],
      ['other text', () => 'x'],
    ])('is not accepted if it is %s', async ([, change]) => {
      const { app: client, refresh: token } = await connectApp(system)
      await expectRefusal(system.auth, () => refresh(system.auth, client, change(token)), INVALID_GRANT)
    })

    test('is not accepted as an access token', async () => {
      const { refresh: token } = await connectApp(system)
      expect(await isActiveAtEachInstance(system, token)).toEqual([false, false])
    })
  })

  describe('loses its access', () => {
    const actor = { user: 'test', host: 'test' }
    const expectConnectionRevoked = async (connected: AppTokens & { app: AppClient }) => {
      await expectRevoked(system, connected)
      for (const instance of [system.auth, system.otherInstance])
        expectProblem(await refresh(instance, connected.app, connected.refresh), INVALID_GRANT)
    }

    test('when the person revokes the verification', async () => {
      const [connected, other] = [await connectApp(system), await connectApp(system)]
      const { verificationId } = await findConnectionIds(system, connected.access)
      await system.stores.verifications.revoke(verificationId, 'person', system.clock.now)
      await expectConnectionRevoked(connected)
      expect(await isActiveAtEachInstance(system, other.access)).toEqual([true, true])
    })

    test('when the verification expires, and no token expires later', async () => {
      const connected = await connectApp(system)
      // An hour is left, which is less than the usual lifetime of a token.
      passTime(RULES.verificationMs - 3_600_000)
      const response = await refresh(system.auth, connected.app, connected.refresh)
      const lifetimeSeconds = JSON.parse(response.text).expires_in as number
      expect(lifetimeSeconds).toBeGreaterThan(3_500)
      expect(lifetimeSeconds).toBeLessThanOrEqual(3_600)
      const { refresh: token } = readTokens(system.auth, response)
      passTime(3_600_000)
      expectProblem(await refresh(system.auth, connected.app, token), INVALID_GRANT)
    })

    test.for(['disabled', 'deleted'] as const)(
      'when staff have %s its connection, and does not get access back when they enable the connection again',
      async (status) => {
        const connected = await connectApp(system)
        const { agentId } = await findConnectionIds(system, connected.access)
        await deactivateAgent(system.stores, { id: agentId as never, credentialVersion: undefined }, status)
        await expectConnectionRevoked(connected)
        if (status === 'disabled')
          expect(await system.stores.agents.enable(agentId as never, system.clock.now)).toBe(true)
        system.stores.agentCache.invalidateAll()
        await expectConnectionRevoked(connected)
      },
    )

    test('through an emergency revocation of its tokens, while another connection keeps its access', async () => {
      const [connected, other] = [await connectApp(system), await connectApp(system)]
      const { agentId } = await findConnectionIds(system, connected.access)
      const scope = { kind: 'client', clientId: agentId } as never
      await revokeInEmergency({ ...system.stores, actor }, scope, { reason: 'test' })
      await expectConnectionRevoked(connected)
      expect(await isActiveAtEachInstance(system, other.access)).toEqual([true, true])
      readTokens(system.auth, await refresh(system.auth, other.app, other.refresh))
    })

    test('through an emergency revocation of all tokens, which also revokes its codes, until a new sign-in', async () => {
      const connected = await connectApp(system)
      const code = await getCode(system, connected.app)
      await revokeInEmergency({ ...system.stores, actor }, { kind: 'all-tokens' }, { reason: 'test' })
      await expectConnectionRevoked(connected)
      expectProblem(await redeemCode(system.auth, connected.app, code), INVALID_GRANT)
      const reconnected = await connectApp(system, connected.app)
      expect(await isActiveAtEachInstance(system, reconnected.access)).toEqual([true, true])
      readTokens(system.auth, await refresh(system.auth, reconnected.app, reconnected.refresh))
    })

    test('through an emergency revocation of earlier tokens, even if it has refreshed them since', async () => {
      const connected = await connectApp(system)
      passTime(5_000)
      const cutoff = system.clock.now
      passTime(5_000)
      const nextTokens = readTokens(system.auth, await refresh(system.auth, connected.app, connected.refresh))
      const later = await connectApp(system)
      const revocation = await revokeInEmergency(
        { ...system.stores, actor },
        { kind: 'issued-before', at: cutoff },
        { reason: 'test' },
      )
      expect(revocation.ok).toBe(true)
      expectProblem(await refresh(system.auth, connected.app, nextTokens.refresh), INVALID_GRANT)
      readTokens(system.auth, await refresh(system.auth, later.app, later.refresh))
    })
  })
})
