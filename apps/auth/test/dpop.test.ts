import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  asAgent,
  deleteAgent,
  GRANT,
  getToken,
  introspect,
  isActive,
  json,
  type Registered,
  register,
  revoke,
} from './agent-client.ts'
import {
  dpopProof,
  INVALID_PROOF,
  PROOF_REQUIRED,
  requestBound,
  thumbprintOf,
  tokenIn,
  USE_NONCE,
} from './dpop-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { expectProblem, expectRefusal } from './expect-refusal.ts'
import {
  assertionFields,
  assertionOf,
  inHeader,
  type KeyPair,
  newKey,
  putKeys,
  registerKeys,
} from './key-agent.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { send } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

describe.for(TOKEN_PLACES)('DPoP at the token endpoint, tokens in %s:', (tokens) => {
  let auth: RunningAuth
  let otherInstance: RunningAuth
  let agent: Registered
  let key: KeyPair
  let other: KeyPair
  beforeAll(async () => {
    auth = await startAuth({ tokens, env: { AUTH_CORS_ORIGINS: 'https://app.example' } })
    otherInstance = await startInstance(auth.stores)
    agent = await register(auth)
    ;[key, other] = [await newKey(), await newKey()]
    await getToken(auth, agent)
  })
  afterAll(async () => {
    await expectNothingInClear(auth)
    await otherInstance[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  const proofOf = (claims = {}) => dpopProof(auth, key, claims)
  const bind = async (by = agent, fields: Record<string, string> = GRANT, at = auth) =>
    tokenIn(auth, await requestBound(at, by, await proofOf(), fields))
  const introspected = async (token: string, at = auth) =>
    (await introspect(at, token)).payload.token_introspection
  const activeAt = (token: string) => Promise.all([isActive(auth, token), isActive(otherInstance, token)])

  test.for(['ES256', 'EdDSA', 'Ed25519'] as const)('binds a token to a key of %s', async (alg) => {
    const proofKey = await newKey(alg)
    const response = await requestBound(auth, agent, await dpopProof(auth, proofKey))
    const token = tokenIn(auth, response)
    expect(JSON.parse(response.text)).toMatchObject({
      token_type: 'DPoP',
      expires_in: 3600,
      scope: 'guides:read waitlist:write',
    })
    for (const at of [auth, otherInstance])
      expect(await introspected(token, at)).toMatchObject({
        active: true,
        client_id: agent.client_id,
        token_type: 'DPoP',
        cnf: { jkt: await thumbprintOf(proofKey) },
      })
  })

  test('issues a bearer token to a request without a proof', async () => {
    const response = await requestBound(auth, agent, undefined)
    expect(JSON.parse(response.text)).toMatchObject({ token_type: 'Bearer' })
    expect(response.headers.get('dpop-nonce')).toBeNull()
    const content = await introspected(tokenIn(auth, response))
    expect(content).toMatchObject({ active: true, token_type: 'Bearer' })
    expect(content).not.toHaveProperty('cnf')
  })

  describe('a proof is accepted once:', () => {
    const used = { ...INVALID_PROOF, says: 'used before' }

    test('when it is sent again, at either instance', async () => {
      const proof = await proofOf()
      tokenIn(auth, await requestBound(auth, agent, proof))
      for (const at of [auth, otherInstance])
        await expectRefusal(auth, () => requestBound(at, agent, proof), used)
    })

    test('when it is sent three times at once, and ten times over both instances', async () => {
      for (const ats of [
        [auth, auth, auth],
        Array.from({ length: 10 }, (_, n) => (n % 2 ? auth : otherInstance)),
      ]) {
        const proof = await proofOf()
        const responses = await Promise.all(ats.map((at) => requestBound(at, agent, proof)))
        const [won, ...lost] = responses.toSorted((a, b) => a.status - b.status)
        tokenIn(auth, won!)
        for (const response of lost) expectProblem(response, used)
      }
    })

    test('with the same jti under another key, but not by another client', async () => {
      const [jti, another] = [randomUUID(), await register(auth)]
      tokenIn(auth, await requestBound(auth, agent, await proofOf({ jti })))
      const sameJti = await dpopProof(auth, other, { jti })
      await expectRefusal(auth, () => requestBound(auth, agent, sameJti), used)
      tokenIn(auth, await requestBound(auth, another, sameJti))
    })

    test('even after a request that was refused for its client or scope', async () => {
      const proof = await proofOf()
      const stranger = { ...agent, client_secret: 'pps_wrong' }
      const nobody = { status: 401, code: 'invalid-client', error: 'invalid_client' }
      await expectRefusal(auth, () => requestBound(auth, stranger, proof), nobody)
      await expectRefusal(auth, () => requestBound(auth, stranger, 'no proof'), nobody)
      const contact = { ...GRANT, scope: 'contact:write' }
      await expectRefusal(auth, () => requestBound(auth, agent, proof, contact), {
        status: 400,
        code: 'invalid-scope',
        error: 'invalid_scope',
      })
      tokenIn(auth, await requestBound(auth, agent, proof))
    })

    test('even after a request over a limit', async () => {
      await using strict = await startInstance(auth.stores, { env: { AUTH_LIMITS_FACTOR: '0.01' } })
      const [another, proof] = [await register(auth), await proofOf()]
      let status = 200
      while (status === 200) ({ status } = await requestBound(strict, another, undefined))
      const tooMany = { status: 429, code: 'rate-limited', error: 'rate_limited' }
      await expectRefusal(auth, () => requestBound(strict, another, proof), tooMany)
      await expectRefusal(auth, () => requestBound(strict, another, 'no proof'), tooMany)
      tokenIn(auth, await requestBound(auth, another, proof))
    })
  })

  describe('a client that registers dpop_bound_access_tokens', () => {
    const signUp = (body: object) =>
      send(auth.url, { method: 'POST', path: '/api/agent/register', ...json(body) })

    test('gets bound tokens only', async () => {
      const response = await signUp({ dpop_bound_access_tokens: true })
      const bound = JSON.parse(response.text) as Registered
      auth.confidential.add(bound.client_secret)
      expect([response.status, bound['dpop_bound_access_tokens']]).toEqual([201, true])
      const described = await send(auth.url, { path: '/api/agent', headers: asAgent(bound) })
      expect(JSON.parse(described.text)).toMatchObject({ dpop_bound_access_tokens: true })
      for (const at of [auth, otherInstance]) {
        await expectRefusal(auth, () => requestBound(at, bound, undefined), {
          ...PROOF_REQUIRED,
          says: 'DPoP header',
        })
        expect(await introspected(await bind(bound, GRANT, at))).toMatchObject({ token_type: 'DPoP' })
      }
    })

    test.for([false, null])('%o changes nothing', async (sent) => {
      const response = await signUp({ dpop_bound_access_tokens: sent })
      const registered = JSON.parse(response.text) as Registered
      auth.confidential.add(registered.client_secret)
      expect([response.status, 'dpop_bound_access_tokens' in registered]).toEqual([201, false])
      tokenIn(auth, await requestBound(auth, registered, undefined))
    })

    test.for(['true', 1, {}])('%o is refused', async (sent) => {
      await expectRefusal(auth, () => signUp({ dpop_bound_access_tokens: sent }), {
        status: 400,
        code: 'invalid-client-metadata',
        error: 'invalid_client_metadata',
        form: 'agent',
      })
    })
  })

  describe('a bound token is revoked, as a bearer token is, by', () => {
    test('its client, without a proof', async () => {
      const [token, kept] = [await bind(), await bind()]
      expect((await revoke(otherInstance, agent, token)).status).toBe(200)
      expect([await activeAt(token), await activeAt(kept)]).toEqual([
        [false, false],
        [true, true],
      ])
    })

    test('the end of its client', async () => {
      const another = await register(auth)
      const token = await bind(another)
      expect(await activeAt(token)).toEqual([true, true])
      expect((await deleteAgent(otherInstance, another)).status).toBe(204)
      expect(await activeAt(token)).toEqual([false, false])
    })

    test('the removal of a key of its client, whichever key it is bound to', async () => {
      const byKey = await registerKeys(auth)
      const fields = async () => ({ ...GRANT, ...assertionFields(await assertionOf(auth, byKey)) })
      const requestBoundTo = async (bound: KeyPair) =>
        send(auth.url, {
          method: 'POST',
          path: '/oauth/token',
          headers: { dpop: await dpopProof(auth, bound) },
          body: new URLSearchParams(await fields()),
        })
      const held = [tokenIn(auth, await requestBoundTo(byKey.key)), tokenIn(auth, await requestBoundTo(key))]
      expect((await introspected(held[0]!)) as object).toMatchObject({
        cnf: { jkt: await thumbprintOf(byKey.key) },
      })
      const next = await newKey()
      const replaced = await putKeys(auth, await inHeader(auth, byKey), { keys: [next] })
      expect(replaced.status, replaced.text).toBe(200)
      for (const token of held) expect(await activeAt(token)).toEqual([false, false])
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
      headers: { origin, ...asAgent(agent), dpop: await proofOf({ nonce: undefined }) },
      body: new URLSearchParams(GRANT),
    })
    expectProblem(response, USE_NONCE)
    expect(response.headers.get('access-control-expose-headers')?.split(', ')).toContain('DPoP-Nonce')
  })
})
