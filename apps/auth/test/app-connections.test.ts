import { RULES } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deactivateAgent } from '../src/agents/deactivate-agent.ts'
import { revokeInEmergency } from '../src/tokens/emergency-revocation.ts'
import { introspect, isActive, register, requestToken } from './agent-client.ts'
import {
  type AppsUnderTest,
  type AppTokens,
  activeAt,
  addApp,
  connect,
  connectionOf,
  exampleApp,
  expectEnded,
  getCode,
  introspected,
  RESOURCE,
  redeemCode,
  refresh,
  startApps,
  tokensIn,
} from './app-flow.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem, expectRefusal, type Refusal } from './expect-refusal.ts'

import { TOKEN_PLACES } from './open-auth-stores.ts'
import { ORIGIN } from './start-auth.ts'

const invalidGrant: Refusal = { status: 400, code: 'invalid-grant', error: 'invalid_grant' }
const invalidClient: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }
const invalidTarget: Refusal = { status: 400, code: 'invalid-target', error: 'invalid_target' }

describe.for(TOKEN_PLACES)('an app that a person connected, tokens in %s,', (tokens) => {
  let under: AppsUnderTest
  beforeAll(async () => {
    under = await startApps(tokens)
  })
  afterAll(async () => {
    await expectNothingInClear(under.auth)
    await under[Symbol.asyncDispose]()
  })

  const wait = (ms: number) => {
    under.clock.now = new Date(under.clock.now.getTime() + ms)
  }

  test('gets tokens for a code, which name the connection and the resource', async () => {
    const client = addApp(under)
    const code = await getCode(under, client)
    expect(code.back.origin + code.back.pathname).toBe(client.redirectUris[0])
    expect(Object.fromEntries(code.back.searchParams)).toEqual({
      code: code.code,
      iss: ORIGIN,
      state: code.state,
    })
    const answer = await redeemCode(under.auth, client, code)
    const { access } = tokensIn(under.auth, answer)
    expect(JSON.parse(answer.text)).toEqual({
      access_token: access,
      refresh_token: expect.any(String),
      expires_in: 8 * 3600,
      scope: 'contact:write',
      token_type: 'Bearer',
    })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const content = await introspected(under, access)
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
    expect(await activeAt(under, access)).toEqual([true, true])
    const elsewhere = await introspect(under.auth, access, 'rs_other')
    expect(elsewhere.payload.token_introspection).toEqual({ active: false })
  })

  test('has a connection for each sign-in', async () => {
    const [one, two] = [await connect(under), await connect(under)]
    expect((await connectionOf(under, one.access)).agentId).not.toBe(
      (await connectionOf(under, two.access)).agentId,
    )
  })

  describe('a code', () => {
    test.for<[string, Record<string, string | undefined>, Refusal]>([
      ['without a verifier', { code_verifier: undefined }, invalidGrant],
      ['with another verifier', { code_verifier: 'x'.repeat(43) }, invalidGrant],
      ['with the challenge as verifier', { code_verifier: 'challenge' }, invalidGrant],
      [
        'with a redirect URI that the app does not have',
        { redirect_uri: 'https://evil.example/' },
        invalidGrant,
      ],
      ['with another redirect URI of the app', { redirect_uri: 'https://host.example/other' }, invalidGrant],
      ['without a redirect URI', { redirect_uri: undefined }, { status: 400, code: 'invalid-request' }],
      ['for the API', { resource: `${ORIGIN}/api` }, invalidTarget],
      ['for another resource', { resource: 'https://other.example/mcp' }, invalidTarget],
      ['with a client secret', { client_secret: 'x' }, invalidClient],
    ])('%s is refused, and can still be used', async ([, change, refusal]) => {
      const client = addApp(under, {
        redirectUris: ['https://host.example/callback', 'https://host.example/other'],
      })
      const code = await getCode(under, client)
      const sent = change['code_verifier'] === 'challenge' ? { code_verifier: code.challenge } : change
      await expectRefusal(under.auth, () => redeemCode(under.auth, client, code, sent), refusal)
      tokensIn(under.auth, await redeemCode(under.auth, client, code))
    })

    test('is refused if it was issued to another app', async () => {
      const [client, other] = [addApp(under), addApp(under)]
      const code = await getCode(under, client)
      await expectRefusal(under.auth, () => redeemCode(under.auth, other, code), invalidGrant)
      tokensIn(under.auth, await redeemCode(under.auth, client, code))
    })

    test.for([undefined, '', RESOURCE, `${RESOURCE}/`])(
      'is accepted with the resource %o',
      async (resource) => {
        const client = addApp(under)
        const code = await getCode(under, client, { resource })
        const { access } = tokensIn(under.auth, await redeemCode(under.auth, client, code, { resource }))
        expect(await introspected(under, access)).toMatchObject({ aud: RESOURCE })
      },
    )

    test('ends the connection if it is used twice', async () => {
      const client = addApp(under)
      const code = await getCode(under, client)
      const first = tokensIn(under.auth, await redeemCode(under.auth, client, code))
      const { verificationId } = await connectionOf(under, first.access)
      expectProblem(await redeemCode(under.there, client, code), invalidGrant)
      await expectEnded(under, first)
      expectProblem(await refresh(under.auth, client, first.refresh), invalidGrant)
      expect(await under.stores.verifications.find(verificationId)).toMatchObject({ endedBy: 'reused' })
    })

    test('gives tokens once if it is used several times at once, and these are revoked', async () => {
      const client = addApp(under)
      const code = await getCode(under, client)
      const answers = await Promise.all(
        [under.auth, under.there, under.auth, under.there].map((at) => redeemCode(at, client, code)),
      )
      const successes = answers.filter(({ status }) => status === 200)
      expect(successes.length).toBeLessThanOrEqual(1)
      for (const answer of answers.filter(({ status }) => status !== 200)) expectProblem(answer, invalidGrant)
      for (const answer of successes) await expectEnded(under, tokensIn(under.auth, answer))
    })

    test('expires after a minute', async () => {
      const client = addApp(under)
      const [late, soon] = [await getCode(under, client), await getCode(under, client)]
      wait(59_000)
      tokensIn(under.auth, await redeemCode(under.auth, client, soon))
      wait(2_000)
      await expectRefusal(under.auth, () => redeemCode(under.auth, client, late), invalidGrant)
    })

    test('is refused to an agent', async () => {
      const client = addApp(under)
      const code = await getCode(under, client)
      const agent = await register(under.auth)
      const asAgent = requestToken(under.auth, agent, {
        grant_type: 'authorization_code',
        code: code.code,
        redirect_uri: client.redirectUris[0] ?? '',
        code_verifier: code.verifier,
      })
      expectProblem(await asAgent, { status: 400, code: 'unauthorized-client', error: 'unauthorized_client' })
      tokensIn(under.auth, await redeemCode(under.auth, client, code))
    })
  })

  describe('a refresh token', () => {
    test('is replaced at each use, with or without a resource', async () => {
      let { app: client, ...last } = await connect(under)
      const { agentId } = await connectionOf(under, last.access)
      for (const resource of [RESOURCE, undefined, `${RESOURCE}/`]) {
        const next = tokensIn(under.auth, await refresh(under.there, client, last.refresh, { resource }))
        expect(next.refresh).not.toBe(last.refresh)
        expect(await introspected(under, next.access)).toMatchObject({ client_id: agentId, aud: RESOURCE })
        expect(await isActive(under.auth, last.access)).toBe(true)
        last = next
      }
    })

    test('gives tokens to two simultaneous requests, and again within a minute', async () => {
      const { app: client, refresh: token } = await connect(under)
      const answers = await Promise.all([under.auth, under.there].map((at) => refresh(at, client, token)))
      wait(RULES.refreshGraceMs)
      answers.push(await refresh(under.auth, client, token))
      for (const answer of answers) {
        const next = tokensIn(under.auth, answer)
        expect(await activeAt(under, next.access)).toEqual([true, true])
        tokensIn(under.auth, await refresh(under.there, client, next.refresh))
      }
    })

    test('ends the connection with all its tokens if it is used again later', async () => {
      const first = await connect(under)
      const { app: client } = first
      const { agentId, verificationId } = await connectionOf(under, first.access)
      const next = tokensIn(under.auth, await refresh(under.auth, client, first.refresh))
      wait(RULES.refreshGraceMs + 1)
      expectProblem(await refresh(under.there, client, first.refresh), invalidGrant)
      await expectEnded(under, first)
      await expectEnded(under, next)
      expectProblem(await refresh(under.auth, client, next.refresh), invalidGrant)
      expect(await under.stores.verifications.find(verificationId)).toMatchObject({
        agentId,
        endedBy: 'reused',
      })
    })

    test('is refused if it was issued to another app, and ends nothing', async () => {
      const first = await connect(under)
      const other = addApp(under)
      for (const ms of [0, RULES.refreshGraceMs + 1]) {
        wait(ms)
        await expectRefusal(under.auth, () => refresh(under.auth, other, first.refresh), invalidGrant)
      }
      tokensIn(under.auth, await refresh(under.auth, first.app, first.refresh))
    })

    test.for<[string, (token: string) => string]>([
      ['an unknown one', () => `ppr_${'A'.repeat(43)}`],
      ['an access token', () => `ppt_${'A'.repeat(43)}`],
      ['one with more after it', (token) => `${token}A`],
      ['text', () => 'x'],
    ])('is not %s', async ([, change]) => {
      const { app: client, refresh: token } = await connect(under)
      await expectRefusal(under.auth, () => refresh(under.auth, client, change(token)), invalidGrant)
    })

    test('is not accepted as an access token', async () => {
      const { refresh: token } = await connect(under)
      expect(await activeAt(under, token)).toEqual([false, false])
    })
  })

  describe('ends', () => {
    const by = { user: 'test', host: 'test' }
    const expectGone = async (connected: AppTokens & { app: ReturnType<typeof exampleApp> }) => {
      await expectEnded(under, connected)
      for (const at of [under.auth, under.there])
        expectProblem(await refresh(at, connected.app, connected.refresh), invalidGrant)
    }

    test('when the person ends the claim', async () => {
      const [connected, other] = [await connect(under), await connect(under)]
      const { verificationId } = await connectionOf(under, connected.access)
      await under.stores.verifications.revoke(verificationId, 'person', under.clock.now)
      await expectGone(connected)
      expect(await activeAt(under, other.access)).toEqual([true, true])
    })

    test('when the claim expires, which no token outlasts', async () => {
      const connected = await connect(under)
      wait(RULES.claimMs - 3_600_000)
      const last = await refresh(under.auth, connected.app, connected.refresh)
      const lifetime = JSON.parse(last.text).expires_in as number
      expect(lifetime).toBeGreaterThan(3_500)
      expect(lifetime).toBeLessThanOrEqual(3_600)
      const { refresh: token } = tokensIn(under.auth, last)
      wait(3_600_000)
      expectProblem(await refresh(under.auth, connected.app, token), invalidGrant)
    })

    test.for(['disabled', 'deleted'] as const)(
      'when staff have %s it, also if it is enabled again',
      async (how) => {
        const connected = await connect(under)
        const { agentId } = await connectionOf(under, connected.access)
        await deactivateAgent(under.stores, agentId as never, how)
        await expectGone(connected)
        if (how === 'disabled')
          expect(await under.stores.agents.enable(agentId as never, under.clock.now)).toBe(true)
        under.stores.agentCache.invalidateAll()
        await expectGone(connected)
      },
    )

    test('with an emergency revocation of its tokens', async () => {
      const [connected, other] = [await connect(under), await connect(under)]
      const { agentId } = await connectionOf(under, connected.access)
      const scope = { kind: 'client', clientId: agentId } as never
      await revokeInEmergency({ ...under.stores, by }, scope, { reason: 'test' })
      await expectGone(connected)
      expect(await activeAt(under, other.access)).toEqual([true, true])
      tokensIn(under.auth, await refresh(under.auth, other.app, other.refresh))
    })

    test('with an emergency revocation of all tokens; codes end too, and a new sign-in works afterwards', async () => {
      const connected = await connect(under)
      const code = await getCode(under, connected.app)
      await revokeInEmergency({ ...under.stores, by }, { kind: 'all-tokens' }, { reason: 'test' })
      await expectGone(connected)
      expectProblem(await redeemCode(under.auth, connected.app, code), invalidGrant)
      const again = await connect(under, connected.app)
      expect(await activeAt(under, again.access)).toEqual([true, true])
      tokensIn(under.auth, await refresh(under.auth, again.app, again.refresh))
    })

    test('with an emergency revocation of earlier tokens, also if they were refreshed since', async () => {
      const connected = await connect(under)
      wait(5_000)
      const at = under.clock.now
      wait(5_000)
      const next = tokensIn(under.auth, await refresh(under.auth, connected.app, connected.refresh))
      const later = await connect(under)
      const stopped = await revokeInEmergency(
        { ...under.stores, by },
        { kind: 'issued-before', at },
        { reason: 'test' },
      )
      expect(stopped.ok).toBe(true)
      expectProblem(await refresh(under.auth, connected.app, next.refresh), invalidGrant)
      tokensIn(under.auth, await refresh(under.auth, later.app, later.refresh))
    })
  })
})
