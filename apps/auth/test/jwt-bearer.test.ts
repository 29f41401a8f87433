import { JWT_BEARER_GRANT_TYPE } from '@plainpath/metadata'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addVerification, getAssertion, requestAssertion } from './add-verification.ts'
import {
  ACCEPT_SIGNED,
  agentAuthHeader,
  apiAuthHeader,
  deleteAgent,
  getToken,
  introspect,
  isActive,
  type RegisteredAgent,
  register,
  requestIntrospection,
  requestToken,
  revoke,
} from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectRefusal, type Refusal } from './expect-refusal.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { send } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'
import { revokeVerification } from './verification-client.ts'

// R-LIN in the titles is the guarantee of revocation. See docs/glossary.md.

/** A client with a verification and an identity assertion. */
interface AssertionHolder {
  readonly client: RegisteredAgent
  readonly registrationId: string
  readonly assertion: string
}

const ALL_SCOPES = 'guides:read waitlist:write contact:write'

const encodeHeader = (header: object) => Buffer.from(JSON.stringify(header)).toString('base64url')
/** The header of an encrypted JWT that would take 2,147,483,647 hashes to decrypt. */
const SLOW_HEADER = { alg: 'PBES2-HS256+A128KW', enc: 'A128GCM', p2s: 'AAAAAAAAAAA', p2c: 2_147_483_647 }
const ENCRYPTED_JWT = `${encodeHeader(SLOW_HEADER)}.AAAA.AAAA.AAAA.AAAA`
/** Creates an encrypted JWT with the header of a genuine assertion, except for the members about encryption. */
const createEncryptedJwt = (assertion: string) =>
  `${encodeHeader({ ...decodeProtectedHeader(assertion), ...SLOW_HEADER, zip: 'DEF' })}.AAAA.AAAA.AAAA.AAAA`

describe.for(TOKEN_STORES)('the jwt-bearer grant, tokens in %s,', (tokenStore) => {
  let auth: RunningAuth
  let otherInstance: RunningAuth
  let agent: RegisteredAgent
  let registrationId: string
  let email: string
  let assertion: string
  beforeAll(async () => {
    auth = await startAuth({ tokenStore })
    otherInstance = await startInstance(auth.testbed)
    agent = await register(auth, 'Atlas of assertions')
    const verification = await addVerification(auth, agent)
    registrationId = verification.registrationId
    email = verification.email
    assertion = await getAssertion(auth, agent)
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await otherInstance[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  const exchange = (fields: Record<string, string>, client = agent, instance = auth) =>
    requestToken(instance, client, { grant_type: JWT_BEARER_GRANT_TYPE, ...fields })
  async function exchangeForToken(
    client: RegisteredAgent,
    presentedAssertion: string,
    instance = auth,
  ): Promise<string> {
    const response = await exchange({ assertion: presentedAssertion }, client, instance)
    expect(response.status, response.text).toBe(200)
    const { access_token: token } = JSON.parse(response.text) as { access_token: string }
    auth.confidential.add(token)
    return token
  }
  async function createAssertionHolder(options: { lifetimeMs?: number } = {}): Promise<AssertionHolder> {
    const client = await register(auth)
    const verification = await addVerification(auth, client, options)
    return { client, ...verification, assertion: await getAssertion(auth, client) }
  }
  const introspectToken = async (token: string) => (await introspect(auth, token)).payload.token_introspection

  test('issues tokens with all scopes for the same assertion at both instances', async () => {
    for (const instance of [auth, otherInstance]) {
      const response = await exchange({ assertion }, agent, instance)
      expect([response.status, JSON.parse(response.text)]).toEqual([
        200,
        {
          access_token: expect.stringMatching(/^ppt_[A-Za-z0-9_-]{43}$/),
          token_type: 'Bearer',
          expires_in: 3600,
          scope: ALL_SCOPES,
          client_expires_at: expect.stringMatching(/^20.*Z$/),
        },
      ])
      const { access_token: token } = JSON.parse(response.text) as { access_token: string }
      auth.confidential.add(token)
      expect(await introspectToken(token)).toMatchObject({
        active: true,
        client_id: agent.client_id,
        scope: ALL_SCOPES,
        aud: 'https://plainpath.example/api',
        identity_type: 'verified_email',
        registration_id: registrationId,
      })
    }
  })

  test('issues a token with the audience of the API for the resource of the MCP server', async () => {
    const response = await exchange({ assertion, resource: 'https://plainpath.example/api/mcp' })
    const { access_token: token } = JSON.parse(response.text) as { access_token: string }
    auth.confidential.add(token)
    expect(await introspectToken(token)).toMatchObject({
      active: true,
      aud: 'https://plainpath.example/api',
    })
  })

  test.for([
    ['contact:write', 'contact:write'],
    ['contact:write nonsense', 'contact:write'],
    ['guides:read', 'guides:read'],
    ['', ALL_SCOPES],
  ])('for the scope %j grants %j', async ([scope, granted]) => {
    const response = await exchange({ assertion, scope: scope ?? '' })
    expect((JSON.parse(response.text) as { scope: string }).scope).toBe(granted)
  })

  test('does not add scopes to tokens of the client_credentials grant', async () => {
    const token = await getToken(auth, agent)
    expect(await introspectToken(token)).toMatchObject({
      scope: 'guides:read waitlist:write',
      identity_type: 'anonymous',
    })
    expect(await introspectToken(token)).not.toHaveProperty('registration_id')
  })

  test('introspection returns the address and facts about the agent only for claims=email', async () => {
    const token = await exchangeForToken(agent, assertion)
    const introspectWith = (fields: Record<string, string>) =>
      send(auth.internalUrl, {
        method: 'POST',
        path: '/oauth/introspect',
        headers: { ...ACCEPT_SIGNED, ...apiAuthHeader(auth) },
        body: new URLSearchParams({ token, ...fields }),
      })
    const readDescription = async (fields: Record<string, string>) =>
      decodeJwt<{ token_introspection: object }>((await introspectWith(fields)).text).token_introspection
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    expect(await readDescription({ claims: 'email' })).toMatchObject({
      email,
      claim: { agent_registered_at: time, verified_at: time, expires_at: time },
    })
    for (const fields of [{}, { claims: 'name' }, { claims: 'e-mail' }]) {
      expect(await readDescription(fields)).not.toHaveProperty('email')
      expect(await readDescription(fields)).not.toHaveProperty('claim')
    }
    expect((await requestIntrospection(otherInstance, token)).status).toBe(200)
  })

  test('issues assertions that last a day, are for this server and one client, and do not contain the address', async () => {
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

  const invalidGrant: Refusal = { status: 400, code: 'invalid-grant', error: 'invalid_grant' }
  describe('refuses, and stores nothing:', () => {
    test.for([
      ['no assertion', () => ({}), { status: 400, code: 'invalid-request' }],
      ['an empty assertion', () => ({ assertion: '' }), { status: 400, code: 'invalid-request' }],
      ['text that is not a JWT', () => ({ assertion: 'nonsense' }), invalidGrant],
      ['an access token', async () => ({ assertion: await getToken(auth, agent) }), invalidGrant],
      [
        'an introspection response',
        async () => ({ assertion: (await requestIntrospection(auth, await getToken(auth, agent))).text }),
        invalidGrant,
      ],
      [
        'an assertion with an altered signature',
        () => ({ assertion: `${assertion.slice(0, -6)}AAAAAA` }),
        invalidGrant,
      ],
      [
        'the assertion of another client',
        async () => ({ assertion: (await createAssertionHolder()).assertion }),
        invalidGrant,
      ],
      ['an encrypted JWT', () => ({ assertion: ENCRYPTED_JWT }), invalidGrant],
      [
        'an encrypted JWT with the header of a genuine assertion',
        () => ({ assertion: createEncryptedJwt(assertion) }),
        invalidGrant,
      ],
      ['text of 3,000 characters', () => ({ assertion: 'a'.repeat(3_000) }), invalidGrant],
      [
        'only an unknown scope',
        () => ({ assertion, scope: 'admin' }),
        { status: 400, code: 'invalid-scope', error: 'invalid_scope' },
      ],
      [
        'another resource',
        () => ({ assertion, resource: 'https://evil.example/api' }),
        { status: 400, code: 'invalid-target', error: 'invalid_target' },
      ],
      [
        'the MCP server with a trailing slash as the resource',
        () => ({ assertion, resource: 'https://plainpath.example/api/mcp/' }),
        { status: 400, code: 'invalid-target', error: 'invalid_target' },
      ],
    ] as [string, () => Record<string, string> | Promise<Record<string, string>>, Refusal][])(
      '%s',
      async ([_title, fields, refusal]) => {
        const invalidFields = await fields()
        await expectRefusal(auth, () => exchange(invalidFields), refusal)
        expect((await exchange({ assertion })).status).toBe(200)
      },
    )
  })

  test('rejects an assertion that was revoked without its verification, and accepts the next one', async () => {
    const holder = await createAssertionHolder()
    await auth.testbed.db.query('delete from identity_assertions where jti = $1', [
      decodeJwt(holder.assertion).jti,
    ])
    await expectRefusal(auth, () => exchange({ assertion: holder.assertion }, holder.client), invalidGrant)
    await exchangeForToken(holder.client, await getAssertion(auth, holder.client))
  })

  test('exchanges only the newest 20 assertions of a verification', async () => {
    const holder = await createAssertionHolder()
    await exchangeForToken(holder.client, holder.assertion)
    const newerAssertions: string[] = []
    for (let n = 0; n < 20; n += 1) newerAssertions.push(await getAssertion(auth, holder.client))
    await expectRefusal(auth, () => exchange({ assertion: holder.assertion }, holder.client), invalidGrant)
    for (const newerAssertion of [newerAssertions[0], newerAssertions[19]])
      await exchangeForToken(holder.client, newerAssertion ?? '')
  })

  test('issues tokens and assertions that expire no later than their verification', async () => {
    const holder = await createAssertionHolder({ lifetimeMs: 600_000 })
    const response = await exchange({ assertion: holder.assertion }, holder.client)
    const { expires_in: seconds } = JSON.parse(response.text) as { expires_in: number }
    expect(seconds).toBeGreaterThan(580)
    expect(seconds).toBeLessThanOrEqual(600)
    const { exp = 0, iat = 0 } = decodeJwt(holder.assertion)
    expect(exp - iat).toBeLessThanOrEqual(600)
  })

  test('lets the client revoke one of its tokens without the others', async () => {
    const holder = await createAssertionHolder()
    const [revokedToken, otherToken] = [
      await exchangeForToken(holder.client, holder.assertion),
      await exchangeForToken(holder.client, holder.assertion),
    ]
    expect((await revoke(otherInstance, holder.client, revokedToken)).status).toBe(200)
    expect([await isActive(auth, revokedToken), await isActive(auth, otherToken)]).toEqual([false, true])
  })

  test('GET /api/agent shows a client its live verification, and shows no verification to an unverified client', async () => {
    const describeAgent = async (client: RegisteredAgent) =>
      JSON.parse(
        (await send(auth.url, { path: '/api/agent', headers: agentAuthHeader(client) })).text,
      ) as object
    expect(await describeAgent(agent)).toMatchObject({
      identity_type: 'verified_email',
      registration_id: registrationId,
      claim_expires_at: expect.any(String),
    })
    const unverifiedDescription = await describeAgent(await register(auth))
    expect(unverifiedDescription).toMatchObject({ identity_type: 'anonymous' })
    expect(unverifiedDescription).not.toHaveProperty('registration_id')
  })

  test('issues no assertion without a verification, and says how to get one', async () => {
    const client = await register(auth)
    await expectRefusal(auth, () => requestAssertion(auth, client), {
      status: 409,
      code: 'no-claim',
      error: 'no_claim',
      errorFormat: 'agent',
      says: 'POST /api/agent/claim',
    })
  })

  // The number is the status of the client's next request for an assertion.
  test.for([
    ['a replaced verification', ({ client }: AssertionHolder) => addVerification(auth, client), 200],
    ['a deleted client', ({ client }: AssertionHolder) => deleteAgent(otherInstance, client), 401],
  ] as [string, (holder: AssertionHolder) => Promise<unknown>, number][])(
    'R-LIN assertions and tokens of %s are rejected at both instances',
    async ([_title, endVerification, nextStatus]) => {
      const holder = await createAssertionHolder()
      const token = await exchangeForToken(holder.client, holder.assertion)
      expect([await isActive(auth, token), await isActive(otherInstance, token)]).toEqual([true, true])
      await endVerification(holder)
      expect([await isActive(auth, token), await isActive(otherInstance, token)]).toEqual([false, false])
      const texts: string[] = []
      for (const instance of [auth, otherInstance]) {
        const exchangeAgain = async () => {
          const { status, text } = await exchange({ assertion: holder.assertion }, holder.client, instance)
          texts.push(text)
          return status
        }
        expect([400, 401]).toContain(await exchangeAgain())
        // An instance that is not yet notified authenticates a deleted client, and refuses its assertion with 400.
        await expect.poll(exchangeAgain).toBe(nextStatus === 200 ? 400 : 401)
      }
      expect(texts.filter((text) => text.includes('access_token'))).toEqual([])
      expect((await requestAssertion(auth, holder.client)).status).toBe(nextStatus)
    },
  )

  test('R-LIN revokes tokens when the agent repeats a request whose revocation was stored but not published', async () => {
    const holder = await createAssertionHolder()
    const token = await exchangeForToken(holder.client, holder.assertion)
    expect(await isActive(auth, token)).toBe(true)
    // A request leaves this state if it gets 503 because a step after the commit fails.
    await auth.testbed.db.query(
      `update claims set ended_at = now(), ended_by = 'agent', email_sealed = null, email_hash = null, email_hash_key = null
       where id = $1`,
      [holder.registrationId],
    )
    expect((await revokeVerification(auth, holder.client)).status).toBe(204)
    expect([await isActive(auth, token), await isActive(otherInstance, token)]).toEqual([false, false])
  })
})
