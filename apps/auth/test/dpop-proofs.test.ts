import { createHmac, generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAX_PROOF_LENGTH } from '../src/clients/dpop-proof.ts'
import {
  agentAuthHeader,
  CLIENT_CREDENTIALS_GRANT,
  getToken,
  type RegisteredAgent,
  register,
} from './agent-client.ts'
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
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { countStored, expectRefusal, type Refusal } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair, nowSeconds } from './key-agent.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import { formatRawRequest, sendRaw } from './send.ts'
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

type ProofContext = { auth: RunningAuth; key: KeyPair; otherKey: KeyPair }
interface InvalidProof {
  readonly title: string
  /** Changes the parts of a valid proof before they are signed. */
  readonly change?: (parts: ProofParts, context: ProofContext) => void | Promise<void>
  /** Replaces the signed proof. */
  readonly encode?: (parts: ProofParts, context: ProofContext) => string | Promise<string>
  /** The expected refusal; by default `INVALID_PROOF`. */
  readonly refusal?: Refusal
  /** The text that `detail` must contain. */
  readonly detail?: string
}

/** Values of `htu` that do not name the endpoint. */
const WRONG_TARGETS: readonly (readonly [title: string, htu: unknown])[] = [
  ['no htu', undefined],
  ['another host', 'https://evil.example/oauth/token'],
  ['a host that begins with our host', 'https://plainpath.example.evil.example/oauth/token'],
  ['another scheme', 'http://plainpath.example/oauth/token'],
  ['another port', 'https://plainpath.example:8443/oauth/token'],
  ['credentials in the URL', 'https://a:b@plainpath.example/oauth/token'],
  ['a trailing slash', 'https://plainpath.example/oauth/token/'],
  ['a path in another case', 'https://plainpath.example/oauth/Token'],
  ['another endpoint', 'https://plainpath.example/oauth/revoke'],
  ['the endpoint in the query', 'https://plainpath.example/?/oauth/token'],
  ['a path alone', '/oauth/token'],
  ['a list of URLs', ['https://plainpath.example/oauth/token']],
]

/** The part of the detail that reports any mistake in `jwk`, and a `crit`. */
const KEY_DETAIL = 'a public key of P-256 or Ed25519 as the header parameter jwk'

/** Proofs that each have one mistake, which the refusal must report. */
const INVALID_PROOFS: readonly InvalidProof[] = [
  { title: 'an empty header', encode: () => '', detail: 'not one signed JWT' },
  { title: 'text that is not a JWT', encode: () => 'proof', detail: 'not one signed JWT' },
  { title: 'text with the five parts of a JWE', encode: () => 'a.b.c.d.e', detail: 'not one signed JWT' },
  {
    title: 'a proof of more than 4096 characters',
    change: setClaim('pad', 'x'.repeat(MAX_PROOF_LENGTH)),
    detail: 'at most 4096',
  },
  {
    title: 'a list of two proofs',
    encode: async (parts, { key }) => `${await signProof(parts, key)}, ${await signProof(parts, key)}`,
    detail: 'not one signed JWT',
  },
  {
    title: 'a proof and a comma',
    encode: async (parts, { key }) => `${await signProof(parts, key)},`,
    detail: 'signature',
  },
  { title: 'no typ', change: setHeader('typ', undefined), detail: 'typ' },
  { title: 'the typ of another JWT', change: setHeader('typ', 'JWT'), detail: 'typ' },
  { title: 'the typ of a proof of a new key', change: setHeader('typ', 'jwks-proof+jwt'), detail: 'typ' },
  {
    title: 'alg none',
    change: setHeader('alg', 'none'),
    encode: (parts) => `${encodeUnsigned(parts)}.`,
    detail: 'alg',
  },
  // `c2ln` is `sig` in base64url.
  {
    title: 'alg none with a signature',
    change: setHeader('alg', 'none'),
    encode: (parts) => `${encodeUnsigned(parts)}.c2ln`,
    detail: 'alg',
  },
  {
    title: 'HS256 with the public key as the secret',
    change: setHeader('alg', 'HS256'),
    encode(parts, { key }) {
      const hmac = createHmac('sha256', JSON.stringify(toPublicJwk(key))).update(encodeUnsigned(parts))
      return `${encodeUnsigned(parts)}.${hmac.digest('base64url')}`
    },
    detail: 'alg',
  },
  {
    title: 'RS256',
    change(parts) {
      Object.assign(parts.header, { alg: 'RS256', jwk: rsa.publicKey.export({ format: 'jwk' }) })
    },
    encode(parts) {
      const signature = sign('sha256', Buffer.from(encodeUnsigned(parts)), rsa.privateKey)
      return `${encodeUnsigned(parts)}.${signature.toString('base64url')}`
    },
    detail: 'alg',
  },
  {
    title: 'ES384',
    change(parts) {
      Object.assign(parts.header, { alg: 'ES384', jwk: p384.publicKey.export({ format: 'jwk' }) })
    },
    encode(parts) {
      const key = { key: p384.privateKey, dsaEncoding: 'ieee-p1363' } as const
      const signature = sign('sha384', Buffer.from(encodeUnsigned(parts)), key)
      return `${encodeUnsigned(parts)}.${signature.toString('base64url')}`
    },
    detail: 'alg',
  },
  {
    title: 'a key of another curve',
    change: setJwk(p384.publicKey.export({ format: 'jwk' })),
    detail: KEY_DETAIL,
  },
  {
    title: 'an alg that does not fit the key',
    change: setHeader('alg', 'EdDSA'),
    encode: (parts) => `${encodeUnsigned(parts)}.${randomBytes(64).toString('base64url')}`,
    detail: 'signature',
  },
  { title: 'no jwk', change: setHeader('jwk', undefined), detail: KEY_DETAIL },
  {
    title: 'a kid instead of the key',
    change(parts) {
      Object.assign(parts.header, { jwk: undefined, kid: 'known' })
    },
    detail: KEY_DETAIL,
  },
  {
    title: 'a private key',
    change(parts, { key }) {
      setJwk({ ...toPublicJwk(key), d: randomBytes(32).toString('base64url') })(parts)
    },
    detail: KEY_DETAIL,
  },
  {
    title: 'a symmetric key',
    change: setJwk({ kty: 'oct', k: 'AAAA' }),
    detail: KEY_DETAIL,
  },
  {
    title: 'a point that is not on the curve',
    change(parts, { key }) {
      setJwk({ ...toPublicJwk(key), y: toPublicJwk(key).x })(parts)
    },
    detail: KEY_DETAIL,
  },
  {
    // The key is the neutral element of the curve: this one signature is valid under it for every message.
    title: 'a key for which anybody can sign',
    change(parts) {
      Object.assign(parts.header, {
        alg: 'EdDSA',
        jwk: { kty: 'OKP', crv: 'Ed25519', x: `AQ${'A'.repeat(41)}` },
      })
    },
    encode: (parts) =>
      `${encodeUnsigned(parts)}.${Buffer.concat([Buffer.of(1), Buffer.alloc(63)]).toString('base64url')}`,
    detail: KEY_DETAIL,
  },
  {
    title: 'crit',
    encode: (parts) => `${encodeUnsigned({ ...parts, header: { ...parts.header, crit: ['x'], x: 1 } })}.c2ln`,
    detail: KEY_DETAIL,
  },
  {
    title: 'the signature of another key',
    encode: (parts, { otherKey }) => signProof(parts, otherKey),
    detail: 'signature',
  },
  {
    title: 'a key other than the one that signed',
    change: (parts, { otherKey }) => setJwk(toPublicJwk(otherKey))(parts),
    detail: 'signature',
  },
  {
    title: 'claims that were changed after signing',
    encode: async (parts, { key }) => {
      const signedParts = (await signProof(parts, key)).split('.')
      return [signedParts[0], encodePart({ ...parts.claims, jti: randomUUID() }), signedParts[2]].join('.')
    },
    detail: 'signature',
  },
  { title: 'no jti', change: setClaim('jti', undefined), detail: 'jti' },
  { title: 'an empty jti', change: setClaim('jti', ''), detail: 'jti' },
  { title: 'a jti of 257 characters', change: setClaim('jti', 'x'.repeat(257)), detail: 'jti' },
  { title: 'a jti that is a number', change: setClaim('jti', 1), detail: 'jti' },
  { title: 'no htm', change: setClaim('htm', undefined), detail: 'htm' },
  { title: 'another method', change: setClaim('htm', 'GET'), detail: 'htm' },
  { title: 'the method in lower case', change: setClaim('htm', 'post'), detail: 'htm' },
  ...WRONG_TARGETS.map(([title, htu]) => ({ title, change: setClaim('htu', htu), detail: 'htu' })),
  {
    title: 'the URL of the listener instead of the public one',
    change: (parts, { auth }) => setClaim('htu', `${auth.url}/oauth/token`)(parts),
    detail: 'htu',
  },
  { title: 'no iat', change: setClaim('iat', undefined), detail: 'iat' },
  { title: 'an iat that is text', change: setClaim('iat', String(nowSeconds())), detail: 'iat' },
  // A proof may be at most a minute old. Its `iat` may be at most 10 s in the future, because clocks differ.
  {
    title: 'an iat more than a minute in the past',
    change: (parts) => setClaim('iat', nowSeconds() - 63)(parts),
    detail: 'seconds old',
  },
  {
    title: 'an iat in the future',
    change: (parts) => setClaim('iat', nowSeconds() + 15)(parts),
    detail: 'in the future',
  },
  { title: 'an iat in milliseconds', change: setClaim('iat', Date.now()), detail: 'future' },
  {
    title: 'an exp that has passed',
    change: (parts) => setClaim('exp', nowSeconds() - 1)(parts),
    detail: 'exp',
  },
  { title: 'no nonce', change: setClaim('nonce', undefined), refusal: USE_NONCE },
  { title: 'an empty nonce', change: setClaim('nonce', ''), refusal: USE_NONCE },
  {
    title: 'a random nonce',
    change: setClaim('nonce', randomBytes(32).toString('base64url')),
    refusal: USE_NONCE,
  },
  { title: 'a nonce that is a number', change: setClaim('nonce', 7), detail: 'nonce' },
  {
    title: 'a nonce that was issued five minutes ago',
    change: async (parts, { auth }) => setClaim('nonce', await deriveNonce(auth, -5))(parts),
    refusal: USE_NONCE,
  },
  {
    title: 'a nonce that would be issued five minutes from now',
    change: async (parts, { auth }) => setClaim('nonce', await deriveNonce(auth, 5))(parts),
    refusal: USE_NONCE,
  },
  {
    title: 'a nonce that was derived from another secret',
    change: async (parts, { auth }) => setClaim('nonce', await deriveNonce(auth, 0, randomBytes(32)))(parts),
    refusal: USE_NONCE,
  },
]

describe.for(TOKEN_STORES)('DPoP proofs at the token endpoint, tokens in %s:', (tokenStore) => {
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
    // Shows that the agent can get tokens, and warms the instance up, because `expectRefusal` limits the response time.
    await getToken(auth, agent)
  })
  afterAll(async () => {
    await expectNoConfidentialValues(auth)
    await otherInstance[Symbol.asyncDispose]()
    await auth[Symbol.asyncDispose]()
  })

  const createProof = (claims = {}) => createDpopProof(auth, key, claims)
  describe('refuses', () => {
    test.for(INVALID_PROOFS)('$title', async ({ change, encode, refusal = INVALID_PROOF, detail }) => {
      const context = { auth, key, otherKey }
      const validParts = createProofParts(auth, key, await deriveNonce(auth))
      const parts = { header: { ...validParts.header }, claims: { ...validParts.claims } }
      await change?.(parts, context)
      const proof = encode ? await encode(parts, context) : await signProof(parts, key)
      auth.confidential.add(String(validParts.claims['jti']))
      await expectRefusal(auth, () => requestTokenWithProof(auth, agent, proof), {
        ...refusal,
        ...(detail && { says: detail }),
      })
      // A refused proof must not use up its jti.
      readToken(auth, await requestTokenWithProof(auth, agent, await signProof(validParts, key)))
    })

    test.for([
      ['two headers', async () => [await createProof(), await createProof()]],
      ['the same header twice', async () => Array(2).fill(await createProof())],
      ['a proof and an empty header', async () => [await createProof(), '']],
    ] as [string, () => Promise<string[]>][])('%s', async ([_title, proofs]) => {
      const headers = await proofs()
      const body = new URLSearchParams(CLIENT_CREDENTIALS_GRANT).toString()
      const request = async (proofHeaders: string[]) => {
        const lines = [
          `Authorization: ${agentAuthHeader(agent).authorization}`,
          'Content-Type: application/x-www-form-urlencoded',
          `Content-Length: ${body.length}`,
          ...proofHeaders.map((each) => `DPoP: ${each}`),
        ]
        return (await sendRaw(auth.url, formatRawRequest('POST /oauth/token', lines, body)))[0]!
      }
      await expectRefusal(auth, () => request(headers), { ...INVALID_PROOF, says: 'Send one DPoP header' })
      readToken(auth, await request(headers.slice(0, 1)))
    })

    test('a forged Host header with a proof for it', async () => {
      const [body, host] = [new URLSearchParams(CLIENT_CREDENTIALS_GRANT).toString(), 'evil.example']
      const proof = await createProof({ htu: `https://${host}/oauth/token` })
      const lines = [
        `Authorization: ${agentAuthHeader(agent).authorization}`,
        'Content-Type: application/x-www-form-urlencoded',
        `Content-Length: ${body.length}`,
        `DPoP: ${proof}`,
      ]
      const storedBefore = await countStored(auth)
      const [response] = await sendRaw(auth.url, formatRawRequest('POST /oauth/token', lines, body, host))
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
    ['claims that it does not use', () => ({ ath: 'none', note: 'x' })],
  ])('accepts %s', async ([_title, claims]) => {
    expect(readToken(auth, await requestTokenWithProof(auth, agent, await createProof(claims())))).toMatch(
      /^ppt_/,
    )
  })

  test.for([-1, 0, 1])(
    'accepts the nonce of %i minutes from now at both instances, and offers the newest nonce unless it was sent',
    async (minutes) => {
      for (const instance of [auth, otherInstance]) {
        const nonce = await deriveNonce(auth, minutes)
        // The newest nonce that an instance offers is that of the next minute.
        const newestBefore = await deriveNonce(auth, 1)
        const response = await requestTokenWithProof(instance, agent, await createProof({ nonce }))
        const newestAfter = await deriveNonce(auth, 1)
        expect(response.status, response.text).toBe(200)
        const possibleOffers = [newestBefore, newestAfter].map((newest) => (newest === nonce ? null : newest))
        expect(possibleOffers).toContain(response.headers.get('dpop-nonce'))
      }
    },
  )

  test('accepts at one instance the nonce that another offered', async () => {
    const offeredNonce = (
      await requestTokenWithProof(otherInstance, agent, await createProof({ nonce: undefined }))
    ).headers.get('dpop-nonce')
    const response = await requestTokenWithProof(auth, agent, await createProof({ nonce: offeredNonce }))
    expect(response.status, response.text).toBe(200)
  })
})
