import { JWT_BEARER_GRANT_TYPE } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addVerification, getAssertion } from './add-verification.ts'
import {
  agentAuthHeader,
  CLIENT_CREDENTIALS_GRANT,
  createJsonContent,
  getToken,
  introspect,
  isActive,
  type RegisteredAgent,
  register,
} from './agent-client.ts'
import {
  calculateThumbprint,
  createDpopProof,
  createProofParts,
  deriveNonce,
  INVALID_PROOF,
  PROOF_REQUIRED,
  readToken,
  requestTokenWithProof,
  signProof,
  USE_NONCE,
} from './dpop-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectRefusal, type Refusal } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair, nowSeconds } from './key-agent.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { parseSecurityEvents } from './parse-security-events.ts'
import { send } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

/*
 * Once a client has received a DPoP-bound token for `contact:write`, it gets that scope only with a proof, until it allows bearer
 * tokens again. `dpop.test.ts` tests bound tokens in general, and `dpop-proofs.test.ts` tests invalid proofs.
 */

describe.for(TOKEN_STORES)('DPoP with the jwt-bearer grant, tokens in %s:', (tokenStore) => {
  let auth: RunningAuth
  let otherInstance: RunningAuth
  let agent: RegisteredAgent
  let key: KeyPair
  let otherKey: KeyPair
  beforeAll(async () => {
    auth = await startAuth({ tokenStore, env: { AUTH_CORS_ORIGINS: 'https://app.example' } })
    otherInstance = await startInstance(auth.testbed)
    agent = await register(auth)
    key = await generateTestKeyPair()
    otherKey = await generateTestKeyPair()
    // Warms the instance up, because `expectRefusal` limits the response time.
    await getToken(auth, agent)
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await otherInstance[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  const createProof = (claims = {}) => createDpopProof(auth, key, claims)
  const getBoundToken = async (
    client = agent,
    fields: Record<string, string> = CLIENT_CREDENTIALS_GRANT,
    instance = auth,
  ) => readToken(auth, await requestTokenWithProof(instance, client, await createProof(), fields))
  const introspectToken = async (token: string, instance = auth) =>
    (await introspect(instance, token)).payload.token_introspection
  const isActiveAtEachInstance = (token: string) =>
    Promise.all([isActive(auth, token), isActive(otherInstance, token)])

  describe('the jwt-bearer grant', () => {
    const ALL_SCOPES = 'guides:read waitlist:write contact:write'
    const createVerifiedClient = async () => {
      const client = await register(auth)
      await addVerification(auth, client)
      return {
        client,
        fields: { grant_type: JWT_BEARER_GRANT_TYPE, assertion: await getAssertion(auth, client) },
      }
    }
    const describeAgent = async (client: RegisteredAgent) =>
      JSON.parse(
        (await send(auth.url, { path: '/api/agent', headers: agentAuthHeader(client) })).text,
      ) as Record<string, unknown>
    const allowBearerTokens = (client: RegisteredAgent, instance = auth) =>
      send(instance.url, {
        method: 'DELETE',
        path: '/api/agent/dpop-required-scopes',
        headers: agentAuthHeader(client),
      })

    test('binds its tokens, and accepts each proof once', async () => {
      const { client, fields } = await createVerifiedClient()
      const proof = await createProof()
      const guideFields = { ...fields, scope: 'guides:read' }
      const response = await requestTokenWithProof(auth, client, proof, guideFields)
      expect(JSON.parse(response.text)).toMatchObject({ token_type: 'DPoP', scope: 'guides:read' })
      expect(await introspectToken(readToken(auth, response))).toMatchObject({
        active: true,
        token_type: 'DPoP',
        identity_type: 'verified_email',
        cnf: { jkt: await calculateThumbprint(key) },
      })
      await expectRefusal(auth, () => requestTokenWithProof(otherInstance, client, proof, guideFields), {
        ...INVALID_PROOF,
        says: 'used before',
      })
      const newProof = await createProof()
      const responses = await Promise.all(
        [auth, otherInstance, auth].map((instance) =>
          requestTokenWithProof(instance, client, newProof, guideFields),
        ),
      )
      expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 400, 400])
      expect(await describeAgent(client)).not.toHaveProperty('dpop_required_scopes')
    })

    test.for([
      ['no nonce', { nonce: undefined }, USE_NONCE],
      ['another method', { htm: 'GET' }, INVALID_PROOF],
      ['an old iat', { iat: nowSeconds() - 90 }, INVALID_PROOF],
    ] as [string, object, Refusal][])('refuses a proof with %s', async ([_title, claims, refusal]) => {
      const { client, fields } = await createVerifiedClient()
      const proof = await createProof(claims)
      await expectRefusal(auth, () => requestTokenWithProof(auth, client, proof, fields), refusal)
      const forgedProof = await signProof(createProofParts(auth, otherKey, await deriveNonce(auth)), key)
      await expectRefusal(auth, () => requestTokenWithProof(auth, client, forgedProof, fields), {
        ...INVALID_PROOF,
        says: 'signature',
      })
      readToken(auth, await requestTokenWithProof(auth, client, await createProof(), fields))
    })

    test('requires a proof from a client that registered with dpop_bound_access_tokens', async () => {
      const content = createJsonContent({ dpop_bound_access_tokens: true })
      const response = await send(auth.url, { method: 'POST', path: '/api/agent/register', ...content })
      const client = JSON.parse(response.text) as RegisteredAgent
      auth.confidential.add(client.client_secret)
      await addVerification(auth, client)
      const fields = { grant_type: JWT_BEARER_GRANT_TYPE, assertion: await getAssertion(auth, client) }
      await expectRefusal(auth, () => requestTokenWithProof(auth, client, undefined, fields), PROOF_REQUIRED)
      expect(await isActiveAtEachInstance(await getBoundToken(client, fields))).toEqual([true, true])
    })

    test('requires a proof for contact:write once a bound token had that scope, until the client allows bearer tokens again', async () => {
      const { client, fields } = await createVerifiedClient()
      const bearerToken = readToken(
        auth,
        await requestTokenWithProof(otherInstance, client, undefined, fields),
      )
      expect(await isActiveAtEachInstance(bearerToken)).toEqual([true, true])
      const linesBefore = auth.logged.length
      const boundToken = await getBoundToken(client, fields)
      expect(await introspectToken(boundToken)).toMatchObject({ active: true, scope: ALL_SCOPES })
      expect([await isActiveAtEachInstance(bearerToken), await isActiveAtEachInstance(boundToken)]).toEqual([
        [false, false],
        [true, true],
      ])
      expect((await describeAgent(client))['dpop_required_scopes']).toEqual(['contact:write'])

      await expect
        .poll(async () => (await requestTokenWithProof(otherInstance, client, undefined, fields)).status)
        .toBe(400)
      const refusal = { ...PROOF_REQUIRED, says: 'DELETE /api/agent/dpop-required-scopes' }
      for (const instance of [auth, otherInstance])
        for (const scope of [undefined, 'contact:write', ALL_SCOPES])
          await expectRefusal(
            auth,
            () => requestTokenWithProof(instance, client, undefined, { ...fields, ...(scope && { scope }) }),
            refusal,
          )
      const otherScopes = { ...fields, scope: 'guides:read waitlist:write' }
      const tokenWithoutContact = readToken(
        auth,
        await requestTokenWithProof(otherInstance, client, undefined, otherScopes),
      )
      expect(await isActiveAtEachInstance(tokenWithoutContact)).toEqual([true, true])

      const secondBoundToken = await getBoundToken(client, fields, otherInstance)
      expect([
        await isActiveAtEachInstance(boundToken),
        await isActiveAtEachInstance(secondBoundToken),
      ]).toEqual([
        [true, true],
        [true, true],
      ])

      // The second request changes nothing, and logs no event.
      for (let n = 0; n < 2; n++) expect((await allowBearerTokens(client)).status).toBe(204)
      expect(await describeAgent(client)).not.toHaveProperty('dpop_required_scopes')
      const newBearerToken = readToken(auth, await requestTokenWithProof(auth, client, undefined, fields))
      expect([
        await isActiveAtEachInstance(newBearerToken),
        await isActiveAtEachInstance(boundToken),
      ]).toEqual([
        [true, true],
        [true, true],
      ])
      expect(await isActiveAtEachInstance(await getBoundToken(client, fields))).toEqual([true, true])
      expect(await isActiveAtEachInstance(newBearerToken)).toEqual([false, false])
      const client_id = client.client_id
      expect(parseSecurityEvents(auth.logged.slice(linesBefore))).toEqual([
        { event: 'contact-bound', client_id },
        { event: 'contact-unbound', client_id },
        { event: 'contact-bound', client_id },
      ])
    })

    test('issues active tokens when the first requests for bound tokens are simultaneous', async () => {
      const { client, fields } = await createVerifiedClient()
      const boundTokens = await Promise.all(
        [auth, otherInstance, auth, otherInstance].map((instance) => getBoundToken(client, fields, instance)),
      )
      for (const token of boundTokens) expect(await isActiveAtEachInstance(token)).toEqual([true, true])
    })

    test('does not accept a bearer token for contact:write that an instance with a stale cache issues', async () => {
      const { client, fields } = await createVerifiedClient()
      readToken(auth, await requestTokenWithProof(otherInstance, client, undefined, fields))
      // Without these triggers, the other instance is not notified that the client now needs a proof.
      const alterTriggers = (action: 'disable' | 'enable') =>
        auth.testbed.runAsOwner(
          `alter table agents ${action} trigger agents_changed; alter table agents ${action} trigger agents_dpop_changed`,
        )
      await alterTriggers('disable')
      try {
        const boundToken = await getBoundToken(client, fields)
        const bearerToken = readToken(
          auth,
          await requestTokenWithProof(otherInstance, client, undefined, fields),
        )
        expect([await isActiveAtEachInstance(boundToken), await isActiveAtEachInstance(bearerToken)]).toEqual(
          [
            [true, true],
            [false, false],
          ],
        )
      } finally {
        await alterTriggers('enable')
      }
    })

    test('lets only the client itself allow bearer tokens for contact:write again', async () => {
      const { client, fields } = await createVerifiedClient()
      await getBoundToken(client, fields)
      expect((await allowBearerTokens({ ...client, client_secret: 'pps_wrong' })).status).toBe(401)
      expect((await allowBearerTokens(agent)).status).toBe(204)
      expect((await describeAgent(client))['dpop_required_scopes']).toEqual(['contact:write'])
    })
  })
})
