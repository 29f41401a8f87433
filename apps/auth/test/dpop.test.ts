import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  agentAuthHeader,
  CLIENT_CREDENTIALS_GRANT,
  createJsonContent,
  deleteAgent,
  getToken,
  introspect,
  isActive,
  type RegisteredAgent,
  register,
  revoke,
} from './agent-client.ts'
import {
  calculateThumbprint,
  createDpopProof,
  INVALID_PROOF,
  PROOF_REQUIRED,
  readToken,
  requestTokenWithProof,
  USE_NONCE,
} from './dpop-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, expectRefusal } from './expect-refusal.ts'
import {
  createAssertionFields,
  createAssertionHeader,
  generateTestKeyPair,
  type KeyPair,
  putKeys,
  registerKeys,
  signAssertion,
} from './key-agent.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { send } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

describe.for(TOKEN_STORES)('DPoP at the token endpoint, tokens in %s:', (tokenStore) => {
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

  test.for(['ES256', 'EdDSA', 'Ed25519'] as const)('binds a token to an %s key', async (alg) => {
    const proofKey = await generateTestKeyPair(alg)
    const response = await requestTokenWithProof(auth, agent, await createDpopProof(auth, proofKey))
    const token = readToken(auth, response)
    expect(JSON.parse(response.text)).toMatchObject({
      token_type: 'DPoP',
      expires_in: 3600,
      scope: 'guides:read waitlist:write',
    })
    for (const instance of [auth, otherInstance])
      expect(await introspectToken(token, instance)).toMatchObject({
        active: true,
        client_id: agent.client_id,
        token_type: 'DPoP',
        cnf: { jkt: await calculateThumbprint(proofKey) },
      })
  })

  test('issues a bearer token to a request without a proof', async () => {
    const response = await requestTokenWithProof(auth, agent, undefined)
    expect(JSON.parse(response.text)).toMatchObject({ token_type: 'Bearer' })
    expect(response.headers.get('dpop-nonce')).toBeNull()
    const content = await introspectToken(readToken(auth, response))
    expect(content).toMatchObject({ active: true, token_type: 'Bearer' })
    expect(content).not.toHaveProperty('cnf')
  })

  describe('a proof', () => {
    const usedBefore = { ...INVALID_PROOF, says: 'used before' }

    test('is refused when it is sent again, at either instance', async () => {
      const proof = await createProof()
      readToken(auth, await requestTokenWithProof(auth, agent, proof))
      for (const instance of [auth, otherInstance])
        await expectRefusal(auth, () => requestTokenWithProof(instance, agent, proof), usedBefore)
    })

    test('is accepted from only one of several simultaneous requests, at one instance or at two', async () => {
      for (const instances of [
        [auth, auth, auth],
        Array.from({ length: 10 }, (_, n) => (n % 2 ? auth : otherInstance)),
      ]) {
        const proof = await createProof()
        const responses = await Promise.all(
          instances.map((instance) => requestTokenWithProof(instance, agent, proof)),
        )
        const [accepted, ...refused] = responses.toSorted((a, b) => a.status - b.status)
        readToken(auth, accepted!)
        for (const response of refused) expectProblem(response, usedBefore)
      }
    })

    test('is refused with a used jti, even under another key, but accepted with that jti from another client', async () => {
      const [jti, otherAgent] = [randomUUID(), await register(auth)]
      readToken(auth, await requestTokenWithProof(auth, agent, await createProof({ jti })))
      const proofWithSameJti = await createDpopProof(auth, otherKey, { jti })
      await expectRefusal(auth, () => requestTokenWithProof(auth, agent, proofWithSameJti), usedBefore)
      readToken(auth, await requestTokenWithProof(auth, otherAgent, proofWithSameJti))
    })

    test('is still accepted after a request that was refused for its client or its scope', async () => {
      const proof = await createProof()
      // The client is authenticated before its proof is checked, so even an invalid proof does not change the refusal.
      const agentWithWrongSecret = { ...agent, client_secret: 'pps_wrong' }
      const invalidClient = { status: 401, code: 'invalid-client', error: 'invalid_client' }
      await expectRefusal(auth, () => requestTokenWithProof(auth, agentWithWrongSecret, proof), invalidClient)
      await expectRefusal(
        auth,
        () => requestTokenWithProof(auth, agentWithWrongSecret, 'no proof'),
        invalidClient,
      )
      const contactFields = { ...CLIENT_CREDENTIALS_GRANT, scope: 'contact:write' }
      await expectRefusal(auth, () => requestTokenWithProof(auth, agent, proof, contactFields), {
        status: 400,
        code: 'invalid-scope',
        error: 'invalid_scope',
      })
      readToken(auth, await requestTokenWithProof(auth, agent, proof))
    })

    test('is still accepted after a request over a limit', async () => {
      await using strictInstance = await startInstance(auth.testbed, { env: { AUTH_LIMITS_FACTOR: '0.01' } })
      const [limitedAgent, proof] = [await register(auth), await createProof()]
      // Uses up the client's token limit.
      let status = 200
      while (status === 200)
        ({ status } = await requestTokenWithProof(strictInstance, limitedAgent, undefined))
      const tooMany = { status: 429, code: 'rate-limited', error: 'rate_limited' }
      await expectRefusal(auth, () => requestTokenWithProof(strictInstance, limitedAgent, proof), tooMany)
      await expectRefusal(
        auth,
        () => requestTokenWithProof(strictInstance, limitedAgent, 'no proof'),
        tooMany,
      )
      readToken(auth, await requestTokenWithProof(auth, limitedAgent, proof))
    })
  })

  describe('registration with dpop_bound_access_tokens', () => {
    const registerWith = (body: object) =>
      send(auth.url, { method: 'POST', path: '/api/agent/register', ...createJsonContent(body) })

    test('allows bound tokens only', async () => {
      const response = await registerWith({ dpop_bound_access_tokens: true })
      const client = JSON.parse(response.text) as RegisteredAgent
      auth.confidential.add(client.client_secret)
      expect([response.status, client['dpop_bound_access_tokens']]).toEqual([201, true])
      const describeResponse = await send(auth.url, { path: '/api/agent', headers: agentAuthHeader(client) })
      expect(JSON.parse(describeResponse.text)).toMatchObject({ dpop_bound_access_tokens: true })
      for (const instance of [auth, otherInstance]) {
        await expectRefusal(auth, () => requestTokenWithProof(instance, client, undefined), {
          ...PROOF_REQUIRED,
          says: 'DPoP header',
        })
        expect(
          await introspectToken(await getBoundToken(client, CLIENT_CREDENTIALS_GRANT, instance)),
        ).toMatchObject({
          token_type: 'DPoP',
        })
      }
    })

    test.for([false, null])('%o allows bearer tokens', async (value) => {
      const response = await registerWith({ dpop_bound_access_tokens: value })
      const client = JSON.parse(response.text) as RegisteredAgent
      auth.confidential.add(client.client_secret)
      expect([response.status, 'dpop_bound_access_tokens' in client]).toEqual([201, false])
      readToken(auth, await requestTokenWithProof(auth, client, undefined))
    })

    test.for(['true', 1, {}])('%o is refused', async (value) => {
      await expectRefusal(auth, () => registerWith({ dpop_bound_access_tokens: value }), {
        status: 400,
        code: 'invalid-client-metadata',
        error: 'invalid_client_metadata',
        errorFormat: 'agent',
      })
    })
  })

  describe('a bound token is revoked by', () => {
    test('its client, without a proof', async () => {
      const [token, otherToken] = [await getBoundToken(), await getBoundToken()]
      expect((await revoke(otherInstance, agent, token)).status).toBe(200)
      expect([await isActiveAtEachInstance(token), await isActiveAtEachInstance(otherToken)]).toEqual([
        [false, false],
        [true, true],
      ])
    })

    test('the deletion of its client', async () => {
      const client = await register(auth)
      const token = await getBoundToken(client)
      expect(await isActiveAtEachInstance(token)).toEqual([true, true])
      expect((await deleteAgent(otherInstance, client)).status).toBe(204)
      expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    })

    test('the removal of a key of its client, whether or not it is bound to that key', async () => {
      const keyAgent = await registerKeys(auth)
      const fields = async () => ({
        ...CLIENT_CREDENTIALS_GRANT,
        ...createAssertionFields(await signAssertion(auth, keyAgent)),
      })
      const requestBoundTo = async (proofKey: KeyPair) =>
        send(auth.url, {
          method: 'POST',
          path: '/oauth/token',
          headers: { dpop: await createDpopProof(auth, proofKey) },
          body: new URLSearchParams(await fields()),
        })
      const boundTokens = [
        readToken(auth, await requestBoundTo(keyAgent.key)),
        readToken(auth, await requestBoundTo(key)),
      ]
      expect((await introspectToken(boundTokens[0]!)) as object).toMatchObject({
        cnf: { jkt: await calculateThumbprint(keyAgent.key) },
      })
      const newAgentKey = await generateTestKeyPair()
      const replaceResponse = await putKeys(auth, await createAssertionHeader(auth, keyAgent), {
        keys: [newAgentKey],
      })
      expect(replaceResponse.status, replaceResponse.text).toBe(200)
      for (const token of boundTokens) expect(await isActiveAtEachInstance(token)).toEqual([false, false])
    })
  })

  test('scripts of an allowed origin can send proofs and read nonces', async () => {
    const origin = 'https://app.example'
    const preflight = await send(auth.url, {
      method: 'OPTIONS',
      path: '/oauth/token',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'dpop' },
    })
    expect(preflight.headers.get('access-control-allow-headers')?.split(', ')).toContain('DPoP')
    const response = await send(auth.url, {
      method: 'POST',
      path: '/oauth/token',
      headers: { origin, ...agentAuthHeader(agent), dpop: await createProof({ nonce: undefined }) },
      body: new URLSearchParams(CLIENT_CREDENTIALS_GRANT),
    })
    expectProblem(response, USE_NONCE)
    expect(response.headers.get('access-control-expose-headers')?.split(', ')).toContain('DPoP-Nonce')
  })
})
