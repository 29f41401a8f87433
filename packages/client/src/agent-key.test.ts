import { createHash } from 'node:crypto'
import { decodeJwt, type JWK, jwtVerify } from 'jose'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { FakeService, ReceivedRequest } from '../test/fake-service.ts'
import { createProblem, createRefusal, GUIDE_PATH, startTokenService } from '../test/token-service.ts'
import { type AgentKeys, Plainpath } from './index.ts'

describe('a client with a key', () => {
  const KEY_ALGORITHMS = [
    ['ECDSA', 'ES256', { name: 'ECDSA', namedCurve: 'P-256' }],
    ['Ed25519', 'EdDSA', { name: 'Ed25519' }],
  ] as const
  const generateKeys = async (algorithm: object) =>
    (await crypto.subtle.generateKey(algorithm as { name: 'Ed25519' }, false, [
      'sign',
      'verify',
    ])) as AgentKeys

  /** Starts a service that returns no secret when an agent registers, because the agent has a key. */
  const startKeyService: typeof startTokenService = async (replies) =>
    startTokenService({
      '/api/agent/register': () => ({ status: 201, body: { client_id: 'agt_1' } }),
      ...replies,
    })

  const getProof = ({ headers }: ReceivedRequest) => String(headers['dpop'])
  const findLastRequest = ({ received }: FakeService, path: string) =>
    received.findLast((request) => request.path === path)!

  test.for(KEY_ALGORITHMS)('authenticates and proves requests with %s', async ([_name, alg, algorithm]) => {
    await using service = await startKeyService()
    const keys = await generateKeys(algorithm)
    const client = new Plainpath(service.origin, { keys })
    const credentials = await client.register({ client_name: 'A' })
    expect(credentials).toEqual({ origin: service.origin, client_id: 'agt_1' })
    await client.guide('work-permit', { version: 2 })

    const registration = JSON.parse(findLastRequest(service, '/api/agent/register').body) as {
      jwks: { keys: [JWK] }
      dpop_bound_access_tokens: boolean
    }
    const [jwk] = registration.jwks.keys
    expect(registration).toMatchObject({ client_name: 'A', dpop_bound_access_tokens: true })
    expect(Object.keys(jwk)).not.toContain('d')

    const tokenRequest = findLastRequest(service, '/oauth/token')
    const form = new URLSearchParams(tokenRequest.body)
    const assertion = await jwtVerify(form.get('client_assertion')!, jwk, { audience: service.origin })
    expect(assertion).toMatchObject({
      protectedHeader: { alg },
      payload: { iss: 'agt_1', sub: 'agt_1', jti: expect.any(String) },
    })
    // In seconds.
    expect(assertion.payload.exp! - assertion.payload.iat!).toBe(60)
    const tokenProof = await jwtVerify(getProof(tokenRequest), jwk, { typ: 'dpop+jwt' })
    expect(tokenProof.payload).toMatchObject({ htm: 'POST', htu: `${service.origin}/oauth/token` })

    const request = findLastRequest(service, GUIDE_PATH)
    expect(request.headers['authorization']).toBe('DPoP ppt_1')
    const { protectedHeader, payload } = await jwtVerify(getProof(request), jwk, { typ: 'dpop+jwt' })
    expect(protectedHeader['jwk']).toEqual(jwk)
    const ath = createHash('sha256').update('ppt_1').digest('base64url')
    expect(payload).toMatchObject({ htm: 'GET', htu: `${service.origin}${GUIDE_PATH}`, ath })
  })

  test('uses the nonce of the token endpoint, and retries once when a nonce is required', async () => {
    const nonces: unknown[] = []
    await using service = await startKeyService({
      '/oauth/token': (request) => {
        const { nonce } = decodeJwt(getProof(request))
        nonces.push(nonce)
        if (nonce === undefined)
          return { status: 400, headers: { 'dpop-nonce': 'n-1' }, body: createProblem('use-dpop-nonce') }
        return { headers: { 'dpop-nonce': 'n-2' }, body: { access_token: 'ppt_1', expires_in: 60 } }
      },
    })
    const client = new Plainpath(service.origin, { keys: await generateKeys({ name: 'Ed25519' }) })
    await client.register()
    for (let call = 0; call < 2; call += 1) await client.guide('work-permit')
    expect(nonces).toEqual([undefined, 'n-1', 'n-2'])
  })

  test('requests no third token if the second attempt requires another nonce too, and reads without one', async () => {
    await using service = await startKeyService({
      '/oauth/token': () => ({
        status: 400,
        headers: { 'dpop-nonce': 'n' },
        body: createProblem('use-dpop-nonce'),
      }),
    })
    const client = new Plainpath(service.origin, { keys: await generateKeys({ name: 'Ed25519' }) })
    await client.register()
    await client.guide('work-permit')
    expect(service.count('/oauth/token')).toBe(2)
    const { headers } = findLastRequest(service, GUIDE_PATH)
    expect([headers['authorization'], headers['dpop']]).toEqual([undefined, undefined])
  })

  test('signs a new proof for each attempt', async () => {
    // With `Retry-After: 0`, the client tries again at once.
    let remainingFailures = 1
    await using service = await startKeyService({
      [GUIDE_PATH]: () => (remainingFailures-- > 0 ? createRefusal(429, 'rate-limited', '0') : { body: {} }),
    })
    const client = new Plainpath(service.origin, { keys: await generateKeys({ name: 'Ed25519' }) })
    await client.register()
    await client.guide('work-permit')
    const proofs = service.received.filter(({ path }) => path === GUIDE_PATH).map(getProof)
    expect(new Set(proofs.map((proof) => decodeJwt(proof).jti)).size).toBe(2)
  })

  test('reports that the key cannot sign, instead of reading without a token', async () => {
    await using service = await startKeyService()
    const client = new Plainpath(service.origin, { keys: await generateKeys({ name: 'Ed25519' }) })
    await client.register()
    const sign = vi.spyOn(crypto.subtle, 'sign').mockRejectedValue(new Error('the key is locked'))
    onTestFinished(() => sign.mockRestore())
    await expect(client.guide('work-permit')).rejects.toThrow('the key is locked')
    expect([service.count('/oauth/token'), service.count(GUIDE_PATH)]).toEqual([0, 0])
  })

  test('needs no registration if the client id is the URL of a document', async () => {
    await using service = await startTokenService()
    const credentials = { origin: service.origin, client_id: 'https://agent.example/agent.json' }
    const keys = await generateKeys({ name: 'Ed25519' })
    const client = new Plainpath(service.origin, { credentials, keys })
    await client.guide('work-permit')
    const form = new URLSearchParams(findLastRequest(service, '/oauth/token').body)
    expect(decodeJwt(form.get('client_assertion')!).sub).toBe(credentials.client_id)
    expect(service.count('/api/agent/register')).toBe(0)
  })

  test('rejects keys of another kind, and credentials with neither a secret nor keys', async () => {
    const keys = await generateKeys({ name: 'ECDSA', namedCurve: 'P-384' })
    const origin = 'https://plainpath.example'
    expect(() => new Plainpath(origin, { keys })).toThrow('ECDSA with P-256, or Ed25519')
    const credentials = { origin, client_id: 'agt_1' }
    expect(() => new Plainpath(origin, { credentials })).toThrow('pass the keys')
  })

  test('rejects a public key that cannot be exported, a second private key and a key of the other kind', async () => {
    const { privateKey, publicKey } = await generateKeys({ name: 'Ed25519' })
    const jwk = await crypto.subtle.exportKey('jwk', publicKey)
    const hidden = await crypto.subtle.importKey('jwk', jwk, { name: 'Ed25519' }, false, ['verify'])
    const other = await generateKeys({ name: 'ECDSA', namedCurve: 'P-256' })
    for (const wrongKey of [hidden, privateKey, other.publicKey])
      expect(
        () => new Plainpath('https://plainpath.example', { keys: { privateKey, publicKey: wrongKey } }),
      ).toThrow(new TypeError('The public key must be extractable, and of the kind of the private key.'))
  })
})
