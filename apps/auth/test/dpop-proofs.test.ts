import { createHmac, generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAX_PROOF_LENGTH } from '../src/clients/dpop-proof.ts'
import { asAgent, GRANT, getToken, type RegisteredAgent, register } from './agent-client.ts'
import {
  createDpopProof,
  createProofParts,
  deriveNonce,
  INVALID_PROOF,
  type ProofParts,
  readToken,
  requestTokenWithProof,
  signProof,
  toPublicJwk,
  USE_NONCE,
} from './dpop-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { countStored, expectRefusal, type Refusal } from './expect-refusal.ts'
import { type KeyPair, newKey, nowSeconds } from './key-agent.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { rawRequest, sendRaw } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

const encodePart = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const encodeUnsigned = ({ header, claims }: ProofParts) => `${encodePart(header)}.${encodePart(claims)}`
const setJwk = (jwk: object) => (parts: ProofParts) => {
  parts.header['jwk'] = jwk
}
const setClaim = (name: string, value: unknown) => (parts: ProofParts) => {
  parts.claims[name] = value
}
const setHeader = (name: string, value: unknown) => (parts: ProofParts) => {
  parts.header[name] = value
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })

type TestContext = { auth: RunningAuth; key: KeyPair; otherKey: KeyPair }
interface InvalidProof {
  readonly why: string
  /** Changes the parts of a valid proof before they are signed. */
  readonly change?: (parts: ProofParts, context: TestContext) => void | Promise<void>
  /** Replaces the signed proof. */
  readonly encode?: (parts: ProofParts, context: TestContext) => string | Promise<string>
  readonly refusal?: Refusal
  readonly says?: string | RegExp
}

/** Each proof has one mistake. */
const INVALID_PROOFS: readonly InvalidProof[] = [
  { why: 'an empty header', encode: () => '', says: 'not one signed JWT' },
  { why: 'text that is not a JWT', encode: () => 'proof', says: 'not one signed JWT' },
  { why: 'an encrypted JWT', encode: () => 'a.b.c.d.e', says: 'not one signed JWT' },
  {
    why: 'a proof of more than 4096 characters',
    change: setClaim('pad', 'x'.repeat(MAX_PROOF_LENGTH)),
    says: 'at most 4096',
  },
  {
    why: 'a list of two proofs',
    encode: async (parts, { key }) => `${await signProof(parts, key)}, ${await signProof(parts, key)}`,
    says: 'not one signed JWT',
  },
  {
    why: 'a proof and a comma',
    encode: async (parts, { key }) => `${await signProof(parts, key)},`,
    says: /./,
  },
  { why: 'no typ', change: setHeader('typ', undefined), says: 'typ' },
  { why: 'the typ of another JWT', change: setHeader('typ', 'JWT'), says: 'typ' },
  { why: 'the typ of a proof of a new key', change: setHeader('typ', 'jwks-proof+jwt'), says: 'typ' },
  {
    why: 'alg none',
    change: setHeader('alg', 'none'),
    encode: (parts) => `${encodeUnsigned(parts)}.`,
    says: 'alg',
  },
  {
    why: 'alg none with a signature',
    change: setHeader('alg', 'none'),
    encode: (parts) => `${encodeUnsigned(parts)}.c2ln`,
    says: 'alg',
  },
  {
    why: 'HS256 with the public key as the secret',
    change: setHeader('alg', 'HS256'),
    encode(parts, { key }) {
      const hmac = createHmac('sha256', JSON.stringify(toPublicJwk(key))).update(encodeUnsigned(parts))
      return `${encodeUnsigned(parts)}.${hmac.digest('base64url')}`
    },
    says: 'alg',
  },
  {
    why: 'RS256',
    change(parts) {
      Object.assign(parts.header, { alg: 'RS256', jwk: rsa.publicKey.export({ format: 'jwk' }) })
    },
    encode(parts) {
      const signature = sign('sha256', Buffer.from(encodeUnsigned(parts)), rsa.privateKey)
      return `${encodeUnsigned(parts)}.${signature.toString('base64url')}`
    },
    says: 'alg',
  },
  {
    why: 'ES384',
    change(parts) {
      Object.assign(parts.header, { alg: 'ES384', jwk: p384.publicKey.export({ format: 'jwk' }) })
    },
    encode(parts) {
      const key = { key: p384.privateKey, dsaEncoding: 'ieee-p1363' } as const
      const signature = sign('sha384', Buffer.from(encodeUnsigned(parts)), key)
      return `${encodeUnsigned(parts)}.${signature.toString('base64url')}`
    },
    says: 'alg',
  },
  { why: 'a key of another curve', change: setJwk(p384.publicKey.export({ format: 'jwk' })), says: 'jwk' },
  {
    why: 'an alg that does not fit the key',
    change: setHeader('alg', 'EdDSA'),
    encode: (parts) => `${encodeUnsigned(parts)}.${randomBytes(64).toString('base64url')}`,
    says: 'signature',
  },
  { why: 'no jwk', change: setHeader('jwk', undefined), says: 'jwk' },
  {
    why: 'a kid instead of the key',
    change(parts) {
      Object.assign(parts.header, { jwk: undefined, kid: 'known' })
    },
    says: 'jwk',
  },
  {
    why: 'a private key',
    change(parts, { key }) {
      setJwk({ ...toPublicJwk(key), d: randomBytes(32).toString('base64url') })(parts)
    },
    says: 'private',
  },
  {
    why: 'a symmetric key',
    change: setJwk({ kty: 'oct', k: 'AAAA' }),
    says: 'jwk',
  },
  {
    why: 'a point that is not on the curve',
    change(parts, { key }) {
      setJwk({ ...toPublicJwk(key), y: toPublicJwk(key).x })(parts)
    },
    says: 'jwk',
  },
  {
    why: 'a key for which anybody can sign',
    change(parts) {
      Object.assign(parts.header, {
        alg: 'EdDSA',
        jwk: { kty: 'OKP', crv: 'Ed25519', x: `AQ${'A'.repeat(41)}` },
      })
    },
    encode: (parts) =>
      `${encodeUnsigned(parts)}.${Buffer.concat([Buffer.of(1), Buffer.alloc(63)]).toString('base64url')}`,
    says: 'jwk',
  },
  {
    why: 'crit',
    encode: (parts) => `${encodeUnsigned({ ...parts, header: { ...parts.header, crit: ['x'], x: 1 } })}.c2ln`,
    says: 'crit',
  },
  {
    why: 'the signature of another key',
    encode: (parts, { otherKey }) => signProof(parts, otherKey),
    says: 'signature',
  },
  {
    why: 'another key than that of the signature',
    change: (parts, { otherKey }) => setJwk(toPublicJwk(otherKey))(parts),
    says: 'signature',
  },
  {
    why: 'claims that were changed after signing',
    encode: async (parts, { key }) => {
      const signed = (await signProof(parts, key)).split('.')
      return [signed[0], encodePart({ ...parts.claims, jti: randomUUID() }), signed[2]].join('.')
    },
    says: 'signature',
  },
  { why: 'no jti', change: setClaim('jti', undefined), says: 'jti' },
  { why: 'an empty jti', change: setClaim('jti', ''), says: 'jti' },
  { why: 'a jti of 257 characters', change: setClaim('jti', 'x'.repeat(257)), says: 'jti' },
  { why: 'a jti that is a number', change: setClaim('jti', 1), says: 'jti' },
  { why: 'no htm', change: setClaim('htm', undefined), says: 'htm' },
  { why: 'another method', change: setClaim('htm', 'GET'), says: 'htm' },
  { why: 'the method in lower case', change: setClaim('htm', 'post'), says: 'htm' },
  { why: 'no htu', change: setClaim('htu', undefined), says: 'htu' },
  { why: 'another host', change: setClaim('htu', 'https://evil.example/oauth/token'), says: 'htu' },
  {
    why: 'a host that begins with ours',
    change: setClaim('htu', 'https://plainpath.example.evil.example/oauth/token'),
    says: 'htu',
  },
  {
    why: 'the URL of the listener instead of the public one',
    change: (parts, { auth }) => setClaim('htu', `${auth.url}/oauth/token`)(parts),
    says: 'htu',
  },
  { why: 'another scheme', change: setClaim('htu', 'http://plainpath.example/oauth/token'), says: 'htu' },
  { why: 'another port', change: setClaim('htu', 'https://plainpath.example:8443/oauth/token'), says: 'htu' },
  {
    why: 'credentials in the URL',
    change: setClaim('htu', 'https://a:b@plainpath.example/oauth/token'),
    says: 'htu',
  },
  { why: 'a trailing slash', change: setClaim('htu', 'https://plainpath.example/oauth/token/'), says: 'htu' },
  {
    why: 'a path in another case',
    change: setClaim('htu', 'https://plainpath.example/oauth/Token'),
    says: 'htu',
  },
  { why: 'another endpoint', change: setClaim('htu', 'https://plainpath.example/oauth/revoke'), says: 'htu' },
  {
    why: 'the endpoint in the query',
    change: setClaim('htu', 'https://plainpath.example/?/oauth/token'),
    says: 'htu',
  },
  { why: 'a path alone', change: setClaim('htu', '/oauth/token'), says: 'htu' },
  { why: 'a list of URLs', change: setClaim('htu', ['https://plainpath.example/oauth/token']), says: 'htu' },
  { why: 'no iat', change: setClaim('iat', undefined), says: 'iat' },
  { why: 'an iat that is text', change: setClaim('iat', String(nowSeconds())), says: 'iat' },
  {
    why: 'an iat of more than a minute ago',
    change: (parts) => setClaim('iat', nowSeconds() - 63)(parts),
    says: 'clock',
  },
  {
    why: 'an iat in the future',
    change: (parts) => setClaim('iat', nowSeconds() + 15)(parts),
    says: 'clock',
  },
  { why: 'an iat in milliseconds', change: setClaim('iat', Date.now()), says: 'future' },
  { why: 'an exp that has passed', change: (parts) => setClaim('exp', nowSeconds() - 1)(parts), says: 'exp' },
  { why: 'no nonce', change: setClaim('nonce', undefined), refusal: USE_NONCE },
  { why: 'an empty nonce', change: setClaim('nonce', ''), refusal: USE_NONCE },
  {
    why: 'a random nonce',
    change: setClaim('nonce', randomBytes(32).toString('base64url')),
    refusal: USE_NONCE,
  },
  { why: 'a nonce that is a number', change: setClaim('nonce', 7), says: 'nonce' },
  {
    why: 'the nonce of five minutes ago',
    change: async (parts, { auth }) => setClaim('nonce', await deriveNonce(auth, -5))(parts),
    refusal: USE_NONCE,
  },
  {
    why: 'the nonce of five minutes from now',
    change: async (parts, { auth }) => setClaim('nonce', await deriveNonce(auth, 5))(parts),
    refusal: USE_NONCE,
  },
  {
    why: 'a nonce that was derived from another secret',
    change: async (parts, { auth }) => setClaim('nonce', await deriveNonce(auth, 0, randomBytes(32)))(parts),
    refusal: USE_NONCE,
  },
]

describe.for(TOKEN_PLACES)('DPoP proofs at the token endpoint, tokens in %s:', (tokens) => {
  let auth: RunningAuth
  let otherInstance: RunningAuth
  let agent: RegisteredAgent
  let key: KeyPair
  let otherKey: KeyPair
  beforeAll(async () => {
    auth = await startAuth({ tokens, env: { AUTH_CORS_ORIGINS: 'https://app.example' } })
    otherInstance = await startInstance(auth.stores)
    agent = await register(auth)
    ;[key, otherKey] = [await newKey(), await newKey()]
    await getToken(auth, agent)
  })
  afterAll(async () => {
    await expectNothingInClear(auth)
    await otherInstance[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  const createProof = (claims = {}) => createDpopProof(auth, key, claims)
  describe('refuses', () => {
    test.for(INVALID_PROOFS)('$why', async ({ change, encode, refusal = INVALID_PROOF, says }) => {
      const context = { auth, key, otherKey }
      const validParts = createProofParts(auth, key, await deriveNonce(auth))
      const parts = { header: { ...validParts.header }, claims: { ...validParts.claims } }
      await change?.(parts, context)
      const proof = encode ? await encode(parts, context) : await signProof(parts, key)
      auth.confidential.add(String(validParts.claims['jti']))
      await expectRefusal(auth, () => requestTokenWithProof(auth, agent, proof), {
        ...refusal,
        ...(says && { says }),
      })
      // The valid proof with the same jti is still accepted.
      readToken(auth, await requestTokenWithProof(auth, agent, await signProof(validParts, key)))
    })

    test.for([
      ['two headers', async () => [await createProof(), await createProof()]],
      ['the same header twice', async () => Array(2).fill(await createProof())],
      ['a proof and an empty header', async () => [await createProof(), '']],
    ] as [string, () => Promise<string[]>][])('%s', async ([_title, proofs]) => {
      const headers = await proofs()
      const body = new URLSearchParams(GRANT).toString()
      const request = async (proofHeaders: string[]) => {
        const lines = [
          `Authorization: ${asAgent(agent).authorization}`,
          'Content-Type: application/x-www-form-urlencoded',
          `Content-Length: ${body.length}`,
          ...proofHeaders.map((each) => `DPoP: ${each}`),
        ]
        return (await sendRaw(auth.url, rawRequest('POST /oauth/token', lines, body)))[0]!
      }
      await expectRefusal(auth, () => request(headers), { ...INVALID_PROOF, says: 'Send one DPoP header' })
      readToken(auth, await request(headers.slice(0, 1)))
    })

    test('a forged Host header with a proof for it', async () => {
      const [body, host] = [new URLSearchParams(GRANT).toString(), 'evil.example']
      const proof = await createProof({ htu: `https://${host}/oauth/token` })
      const lines = [
        `Authorization: ${asAgent(agent).authorization}`,
        'Content-Type: application/x-www-form-urlencoded',
        `Content-Length: ${body.length}`,
        `DPoP: ${proof}`,
      ]
      const storedBefore = await countStored(auth)
      const [response] = await sendRaw(auth.url, rawRequest('POST /oauth/token', lines, body, host))
      expect(response?.status).toBe(421)
      expect(await countStored(auth)).toEqual(storedBefore)
    })
  })

  test.for<[title: string, claims: () => object]>([
    ['a host in another case', () => ({ htu: 'https://PLAINPATH.example/oauth/token' })],
    ['the default port', () => ({ htu: 'https://plainpath.example:443/oauth/token' })],
    [
      'a query and a fragment, which are ignored',
      () => ({ htu: 'https://plainpath.example/oauth/token?a=b#c' }),
    ],
    ['an iat of almost a minute ago', () => ({ iat: nowSeconds() - 50 })],
    ['a jti of 256 characters', () => ({ jti: 'x'.repeat(256) })],
    ['unknown claims', () => ({ ath: 'none', note: 'x' })],
  ])('accepts %s', async ([_title, claims]) => {
    expect(readToken(auth, await requestTokenWithProof(auth, agent, await createProof(claims())))).toMatch(
      /^ppt_/,
    )
  })

  test.for([-1, 0, 1])(
    'accepts the nonce of %i minutes from now at both instances, and offers another unless it is the newest',
    async (minutes) => {
      for (const instance of [auth, otherInstance]) {
        const response = await requestTokenWithProof(
          instance,
          agent,
          await createProof({ nonce: await deriveNonce(auth, minutes) }),
        )
        expect(response.status, response.text).toBe(200)
        const offered = response.headers.get('dpop-nonce')
        if (minutes < 1) expect(offered).toMatch(/^[\w-]{43}$/)
      }
    },
  )

  test('accepts at one instance the nonce that another offered', async () => {
    const offered = (
      await requestTokenWithProof(otherInstance, agent, await createProof({ nonce: undefined }))
    ).headers.get('dpop-nonce')
    const response = await requestTokenWithProof(auth, agent, await createProof({ nonce: offered }))
    expect(response.status, response.text).toBe(200)
  })
})
