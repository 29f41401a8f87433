import { JWT_BEARER_GRANT } from '@plainpath/metadata'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  asAgent,
  asApi,
  deleteAgent,
  getToken,
  introspect,
  isActive,
  type Registered,
  register,
  requestIntrospection,
  requestToken,
  revoke,
  SIGNED,
} from './agent-client.ts'
import { endClaim } from './claim-client.ts'
import { claimMailbox, getAssertion, requestAssertion } from './claim-mailbox.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectRefusal, type Refusal } from './expect-refusal.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { send } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

interface Lending {
  readonly by: Registered
  readonly registrationId: string
  readonly assertion: string
}

const ALL = 'guides:read waitlist:write contact:write'

const part = (header: object) => Buffer.from(JSON.stringify(header)).toString('base64url')
const SLOW = { alg: 'PBES2-HS256+A128KW', enc: 'A128GCM', p2s: 'AAAAAAAAAAA', p2c: 2_147_483_647 }
const ENCRYPTED = `${part(SLOW)}.AAAA.AAAA.AAAA.AAAA`
/** Creates an encrypted token with the header of a genuine assertion, apart from the members that say how to decrypt it. */
const inOurName = (assertion: string) =>
  `${part({ ...decodeProtectedHeader(assertion), ...SLOW, zip: 'DEF' })}.AAAA.AAAA.AAAA.AAAA`

describe.for(TOKEN_PLACES)('the jwt-bearer grant, tokens in %s,', (tokens) => {
  let auth: RunningAuth
  let other: RunningAuth
  let agent: Registered
  let registrationId: string
  let email: string
  let assertion: string
  beforeAll(async () => {
    auth = await startAuth({ tokens })
    other = await startInstance(auth.stores)
    agent = await register(auth, 'Atlas of loans')
    ;({ registrationId, email } = await claimMailbox(auth, agent))
    assertion = await getAssertion(auth, agent)
  })
  afterAll(async () => {
    await expectNothingInClear(auth)
    await other[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  const exchange = (fields: Record<string, string>, by = agent, at = auth) =>
    requestToken(at, by, { grant_type: JWT_BEARER_GRANT, ...fields })
  async function tokenFor(by: Registered, with_: string, at = auth): Promise<string> {
    const response = await exchange({ assertion: with_ }, by, at)
    expect(response.status, response.text).toBe(200)
    const { access_token: token } = JSON.parse(response.text) as { access_token: string }
    auth.confidential.add(token)
    return token
  }
  async function lending(options: { forMs?: number } = {}): Promise<Lending> {
    const by = await register(auth)
    const claim = await claimMailbox(auth, by, options)
    return { by, ...claim, assertion: await getAssertion(auth, by) }
  }
  const introspected = async (token: string) => (await introspect(auth, token)).payload.token_introspection

  test('issues tokens for the lent scopes, repeatedly, at any instance', async () => {
    for (const at of [auth, other]) {
      const response = await exchange({ assertion }, agent, at)
      expect([response.status, JSON.parse(response.text)]).toEqual([
        200,
        {
          access_token: expect.stringMatching(/^ppt_[A-Za-z0-9_-]{43}$/),
          token_type: 'Bearer',
          expires_in: 3600,
          scope: ALL,
          client_expires_at: expect.stringMatching(/^20.*Z$/),
        },
      ])
      const { access_token: token } = JSON.parse(response.text) as { access_token: string }
      auth.confidential.add(token)
      expect(await introspected(token)).toMatchObject({
        active: true,
        client_id: agent.client_id,
        scope: ALL,
        aud: 'https://plainpath.example/api',
        identity_type: 'verified_email',
        registration_id: registrationId,
      })
    }
  })

  test('issues tokens with the same audience for the MCP server', async () => {
    const response = await exchange({ assertion, resource: 'https://plainpath.example/api/mcp' })
    const { access_token: token } = JSON.parse(response.text) as { access_token: string }
    auth.confidential.add(token)
    expect(await introspected(token)).toMatchObject({ active: true, aud: 'https://plainpath.example/api' })
  })

  test.for([
    ['contact:write', 'contact:write'],
    ['contact:write nonsense', 'contact:write'],
    ['guides:read', 'guides:read'],
    ['', ALL],
  ])('for the scope %j gives %j', async ([scope, granted]) => {
    const response = await exchange({ assertion, scope: scope ?? '' })
    expect((JSON.parse(response.text) as { scope: string }).scope).toBe(granted)
  })

  test('leaves the client with the anonymous scopes of client_credentials', async () => {
    const token = await getToken(auth, agent)
    expect(await introspected(token)).toMatchObject({
      scope: 'guides:read waitlist:write',
      identity_type: 'anonymous',
    })
    expect(await introspected(token)).not.toHaveProperty('registration_id')
  })

  test('returns the address, and what mails say of the agent, only to an API that requests it', async () => {
    const token = await tokenFor(agent, assertion)
    const introspectWith = (fields: Record<string, string>) =>
      send(auth.internalUrl, {
        method: 'POST',
        path: '/oauth/introspect',
        headers: { ...SIGNED, ...asApi(auth) },
        body: new URLSearchParams({ token, ...fields }),
      })
    const about = async (fields: Record<string, string>) =>
      decodeJwt<{ token_introspection: object }>((await introspectWith(fields)).text).token_introspection
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    expect(await about({ claims: 'email' })).toMatchObject({
      email,
      claim: { agent_registered_at: time, verified_at: time, expires_at: time },
    })
    for (const fields of [{}, { claims: 'name' }, { claims: 'e-mail' }]) {
      expect(await about(fields)).not.toHaveProperty('email')
      expect(await about(fields)).not.toHaveProperty('claim')
    }
    expect((await requestIntrospection(other, token)).status).toBe(200)
  })

  test('issues assertions by and for this server, for one client, without the address', async () => {
    const jwks = createRemoteJWKSet(new URL('/oauth/jwks.json', auth.internalUrl))
    const { payload } = await jwtVerify(assertion, jwks, { typ: 'identity-assertion+jwt' })
    expect(payload).toEqual({
      iss: auth.origin,
      aud: auth.origin,
      sub: registrationId,
      client_id: agent.client_id,
      identity_type: 'verified_email',
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: expect.any(Number),
    })
    expect(Number(payload.exp) - Number(payload.iat)).toBe(86_400)
    expect(decodeProtectedHeader(assertion)).not.toHaveProperty('jwk')
  })

  const invalid: Refusal = { status: 400, code: 'invalid-grant', error: 'invalid_grant' }
  describe('refuses, and stores nothing:', () => {
    test.for([
      ['no assertion', () => ({}), { status: 400, code: 'invalid-request' }],
      ['an empty one', () => ({ assertion: '' }), { status: 400, code: 'invalid-request' }],
      ['nonsense', () => ({ assertion: 'nonsense' }), invalid],
      ['a token of ours', async () => ({ assertion: await getToken(auth, agent) }), invalid],
      [
        'an introspection response of ours',
        async () => ({ assertion: (await requestIntrospection(auth, await getToken(auth, agent))).text }),
        invalid,
      ],
      ['one that somebody altered', () => ({ assertion: `${assertion.slice(0, -6)}AAAAAA` }), invalid],
      ['one of another client', async () => ({ assertion: (await lending()).assertion }), invalid],
      ['an encrypted one', () => ({ assertion: ENCRYPTED }), invalid],
      ['an encrypted one in our own name', () => ({ assertion: inOurName(assertion) }), invalid],
      ['a very long one', () => ({ assertion: 'a'.repeat(3_000) }), invalid],
      [
        'only scopes that nobody has',
        () => ({ assertion, scope: 'admin' }),
        { status: 400, code: 'invalid-scope', error: 'invalid_scope' },
      ],
      [
        'another resource',
        () => ({ assertion, resource: 'https://evil.example/api' }),
        { status: 400, code: 'invalid-target', error: 'invalid_target' },
      ],
      [
        'the MCP server with a slash as resource',
        () => ({ assertion, resource: 'https://plainpath.example/api/mcp/' }),
        { status: 400, code: 'invalid-target', error: 'invalid_target' },
      ],
    ] as [string, () => Record<string, string> | Promise<Record<string, string>>, Refusal][])(
      '%s',
      async ([_what, fields, refusal]) => {
        const sent = await fields()
        await expectRefusal(auth, () => exchange(sent), refusal)
        expect((await exchange({ assertion })).status).toBe(200)
      },
    )
  })

  test('rejects an assertion that was revoked without its claim, and accepts the next one', async () => {
    const lent = await lending()
    await auth.stores.db.query('delete from identity_assertions where jti = $1', [
      decodeJwt(lent.assertion).jti,
    ])
    await expectRefusal(auth, () => exchange({ assertion: lent.assertion }, lent.by), invalid)
    await tokenFor(lent.by, await getAssertion(auth, lent.by))
  })

  test('exchanges only the newest 20 assertions of a claim', async () => {
    const lent = await lending()
    await tokenFor(lent.by, lent.assertion)
    const more: string[] = []
    for (let each = 0; each < 20; each += 1) more.push(await getAssertion(auth, lent.by))
    await expectRefusal(auth, () => exchange({ assertion: lent.assertion }, lent.by), invalid)
    for (const each of [more[0], more[19]]) await tokenFor(lent.by, each ?? '')
  })

  test('issues tokens and assertions that expire no later than their claim', async () => {
    const lent = await lending({ forMs: 600_000 })
    const response = await exchange({ assertion: lent.assertion }, lent.by)
    const { expires_in: seconds } = JSON.parse(response.text) as { expires_in: number }
    expect(seconds).toBeGreaterThan(580)
    expect(seconds).toBeLessThanOrEqual(600)
    const { exp = 0, iat = 0 } = decodeJwt(lent.assertion)
    expect(exp - iat).toBeLessThanOrEqual(600)
  })

  test('lets the client revoke one of its tokens without the others', async () => {
    const lent = await lending()
    const [ended, alive] = [await tokenFor(lent.by, lent.assertion), await tokenFor(lent.by, lent.assertion)]
    expect((await revoke(other, lent.by, ended)).status).toBe(200)
    expect([await isActive(auth, ended), await isActive(auth, alive)]).toEqual([false, true])
  })

  test('shows the client its claim while it is live', async () => {
    const described = async (by: Registered) =>
      JSON.parse((await send(auth.url, { path: '/api/agent', headers: asAgent(by) })).text) as object
    expect(await described(agent)).toMatchObject({
      identity_type: 'verified_email',
      registration_id: registrationId,
      claim_expires_at: expect.any(String),
    })
    const nobodys = await described(await register(auth))
    expect(nobodys).toMatchObject({ identity_type: 'anonymous' })
    expect(nobodys).not.toHaveProperty('registration_id')
  })

  test('issues no assertion without a claim, and says how to get one', async () => {
    const by = await register(auth)
    await expectRefusal(auth, () => requestAssertion(auth, by), {
      status: 409,
      code: 'no-claim',
      error: 'no_claim',
      form: 'agent',
      says: 'POST /api/agent/claim',
    })
  })

  test.for([
    ['a claim that a new one replaced', ({ by }: Lending) => claimMailbox(auth, by), 200],
    ['a client that was deleted', ({ by }: Lending) => deleteAgent(other, by), 401],
  ] as [string, (lent: Lending) => Promise<unknown>, number][])(
    'R-LIN %s ends its assertions and tokens at every instance',
    async ([_what, end, next]) => {
      const lent = await lending()
      const token = await tokenFor(lent.by, lent.assertion)
      expect([await isActive(auth, token), await isActive(other, token)]).toEqual([true, true])
      await end(lent)
      expect([await isActive(auth, token), await isActive(other, token)]).toEqual([false, false])
      const texts: string[] = []
      for (const at of [auth, other]) {
        const refusal = async () => {
          const { status, text } = await exchange({ assertion: lent.assertion }, lent.by, at)
          texts.push(text)
          return status
        }
        expect([400, 401]).toContain(await refusal())
        // Until an instance is notified, it knows a deleted client, and refuses the assertion instead.
        await expect.poll(refusal).toBe(next === 200 ? 400 : 401)
      }
      expect(texts.filter((text) => text.includes('access_token'))).toEqual([])
      expect((await requestAssertion(auth, lent.by)).status).toBe(next)
    },
  )

  test('R-LIN publishes an end that was stored but not published when the agent repeats the request', async () => {
    const lent = await lending()
    const token = await tokenFor(lent.by, lent.assertion)
    expect(await isActive(auth, token)).toBe(true)
    // The state after a withdrawal whose response is 503, because a step after the commit failed.
    await auth.stores.db.query(
      `update claims set ended_at = now(), ended_by = 'agent', email_sealed = null, email_hash = null, email_hash_key = null
       where id = $1`,
      [lent.registrationId],
    )
    expect((await endClaim(auth, lent.by)).status).toBe(204)
    expect([await isActive(auth, token), await isActive(other, token)]).toEqual([false, false])
  })
})
