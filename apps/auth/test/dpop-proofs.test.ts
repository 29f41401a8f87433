import { createHmac, generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAX_PROOF_LENGTH } from '../src/clients/dpop-proof.ts'
import { asAgent, GRANT, getToken, type Registered, register } from './agent-client.ts'
import {
  dpopProof,
  honestProof,
  INVALID_PROOF,
  nonceOf,
  type ProofParts,
  publicPart,
  requestBound,
  signProof,
  tokenIn,
  USE_NONCE,
} from './dpop-client.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { countStored, expectRefusal, type Refusal } from './expect-refusal.ts'
import { type KeyPair, newKey, seconds } from './key-agent.ts'
import { TOKEN_PLACES } from './open-auth-stores.ts'
import { rawRequest, sendRaw } from './send.ts'
import { type RunningAuth, startAuth, startInstance } from './start-auth.ts'

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const unsigned = ({ header, claims }: ProofParts) => `${part(header)}.${part(claims)}`
const changeKey = (jwk: object) => (parts: ProofParts) => {
  parts.header['jwk'] = jwk
}
const claim = (name: string, value: unknown) => (parts: ProofParts) => {
  parts.claims[name] = value
}
const header = (name: string, value: unknown) => (parts: ProofParts) => {
  parts.header[name] = value
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })

type Env = { auth: RunningAuth; key: KeyPair; other: KeyPair }
interface Hostile {
  readonly why: string
  /** Changes the parts of an honest proof before they are signed. */
  readonly change?: (parts: ProofParts, env: Env) => void | Promise<void>
  /** Replaces the signed proof. */
  readonly as?: (parts: ProofParts, env: Env) => string | Promise<string>
  readonly refusal?: Refusal
  readonly says?: string | RegExp
}

/** Each differs from an honest proof in one thing. */
const HOSTILE: readonly Hostile[] = [
  { why: 'an empty header', as: () => '', says: 'not one signed JWT' },
  { why: 'no JWT', as: () => 'proof', says: 'not one signed JWT' },
  { why: 'an encrypted JWT', as: () => 'a.b.c.d.e', says: 'not one signed JWT' },
  {
    why: 'a proof of more than 4096 characters',
    change: claim('pad', 'x'.repeat(MAX_PROOF_LENGTH)),
    says: 'at most 4096',
  },
  {
    why: 'a list of two proofs',
    as: async (parts, { key }) => `${await signProof(parts, key)}, ${await signProof(parts, key)}`,
    says: 'not one signed JWT',
  },
  {
    why: 'a list of a proof and nothing',
    as: async (parts, { key }) => `${await signProof(parts, key)},`,
    says: /./,
  },
  { why: 'no typ', change: header('typ', undefined), says: 'typ' },
  { why: 'the typ of another JWT', change: header('typ', 'JWT'), says: 'typ' },
  { why: 'the typ of a proof of a new key', change: header('typ', 'jwks-proof+jwt'), says: 'typ' },
  { why: 'alg none', change: header('alg', 'none'), as: (parts) => `${unsigned(parts)}.`, says: 'alg' },
  {
    why: 'alg none with a signature',
    change: header('alg', 'none'),
    as: (parts) => `${unsigned(parts)}.c2ln`,
    says: 'alg',
  },
  {
    why: 'HS256 with the public key as secret',
    change: header('alg', 'HS256'),
    as: (parts, { key }) =>
      `${unsigned(parts)}.${createHmac('sha256', JSON.stringify(publicPart(key)))
        .update(unsigned(parts))
        .digest('base64url')}`,
    says: 'alg',
  },
  {
    why: 'RS256',
    change(parts) {
      Object.assign(parts.header, { alg: 'RS256', jwk: rsa.publicKey.export({ format: 'jwk' }) })
    },
    as: (parts) =>
      `${unsigned(parts)}.${sign('sha256', Buffer.from(unsigned(parts)), rsa.privateKey).toString('base64url')}`,
    says: 'alg',
  },
  {
    why: 'ES384',
    change(parts) {
      Object.assign(parts.header, { alg: 'ES384', jwk: p384.publicKey.export({ format: 'jwk' }) })
    },
    as: (parts) =>
      `${unsigned(parts)}.${sign('sha384', Buffer.from(unsigned(parts)), { key: p384.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`,
    says: 'alg',
  },
  { why: 'a key of another curve', change: changeKey(p384.publicKey.export({ format: 'jwk' })), says: 'jwk' },
  {
    why: 'an alg that does not fit the key',
    change: header('alg', 'EdDSA'),
    as: (parts) => `${unsigned(parts)}.${randomBytes(64).toString('base64url')}`,
    says: 'signature',
  },
  { why: 'no jwk', change: header('jwk', undefined), says: 'jwk' },
  {
    why: 'a kid in place of the key',
    change(parts) {
      Object.assign(parts.header, { jwk: undefined, kid: 'known' })
    },
    says: 'jwk',
  },
  {
    why: 'a private key',
    change(parts, { key }) {
      changeKey({ ...publicPart(key), d: randomBytes(32).toString('base64url') })(parts)
    },
    says: 'private',
  },
  {
    why: 'a symmetric key',
    change: changeKey({ kty: 'oct', k: 'AAAA' }),
    says: 'jwk',
  },
  {
    why: 'a point that is not on the curve',
    change(parts, { key }) {
      changeKey({ ...publicPart(key), y: publicPart(key).x })(parts)
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
    as: (parts) =>
      `${unsigned(parts)}.${Buffer.concat([Buffer.of(1), Buffer.alloc(63)]).toString('base64url')}`,
    says: 'jwk',
  },
  {
    why: 'crit',
    as: (parts) => `${unsigned({ ...parts, header: { ...parts.header, crit: ['x'], x: 1 } })}.c2ln`,
    says: 'crit',
  },
  {
    why: 'the signature of another key',
    as: (parts, { other }) => signProof(parts, other),
    says: 'signature',
  },
  {
    why: 'the key of another signature',
    change: (parts, { other }) => changeKey(publicPart(other))(parts),
    says: 'signature',
  },
  {
    why: 'claims that were changed after signing',
    as: async (parts, { key }) => {
      const signed = (await signProof(parts, key)).split('.')
      return [signed[0], part({ ...parts.claims, jti: randomUUID() }), signed[2]].join('.')
    },
    says: 'signature',
  },
  { why: 'no jti', change: claim('jti', undefined), says: 'jti' },
  { why: 'an empty jti', change: claim('jti', ''), says: 'jti' },
  { why: 'a jti of 257 characters', change: claim('jti', 'x'.repeat(257)), says: 'jti' },
  { why: 'a jti that is a number', change: claim('jti', 1), says: 'jti' },
  { why: 'no htm', change: claim('htm', undefined), says: 'htm' },
  { why: 'another method', change: claim('htm', 'GET'), says: 'htm' },
  { why: 'the method in lower case', change: claim('htm', 'post'), says: 'htm' },
  { why: 'no htu', change: claim('htu', undefined), says: 'htu' },
  { why: 'another host', change: claim('htu', 'https://evil.example/oauth/token'), says: 'htu' },
  {
    why: 'a host that begins alike',
    change: claim('htu', 'https://plainpath.example.evil.example/oauth/token'),
    says: 'htu',
  },
  {
    why: 'the URL that the Host header makes',
    change: (parts, { auth }) => claim('htu', `${auth.url}/oauth/token`)(parts),
    says: 'htu',
  },
  { why: 'another scheme', change: claim('htu', 'http://plainpath.example/oauth/token'), says: 'htu' },
  { why: 'another port', change: claim('htu', 'https://plainpath.example:8443/oauth/token'), says: 'htu' },
  {
    why: 'credentials in the URL',
    change: claim('htu', 'https://a:b@plainpath.example/oauth/token'),
    says: 'htu',
  },
  { why: 'a trailing slash', change: claim('htu', 'https://plainpath.example/oauth/token/'), says: 'htu' },
  {
    why: 'a path in another case',
    change: claim('htu', 'https://plainpath.example/oauth/Token'),
    says: 'htu',
  },
  { why: 'another endpoint', change: claim('htu', 'https://plainpath.example/oauth/revoke'), says: 'htu' },
  {
    why: 'the endpoint as query',
    change: claim('htu', 'https://plainpath.example/?/oauth/token'),
    says: 'htu',
  },
  { why: 'a path alone', change: claim('htu', '/oauth/token'), says: 'htu' },
  { why: 'a list of URLs', change: claim('htu', ['https://plainpath.example/oauth/token']), says: 'htu' },
  { why: 'no iat', change: claim('iat', undefined), says: 'iat' },
  { why: 'an iat of text', change: claim('iat', String(seconds())), says: 'iat' },
  {
    why: 'an iat of more than a minute ago',
    change: (parts) => claim('iat', seconds() - 63)(parts),
    says: 'clock',
  },
  { why: 'an iat in the future', change: (parts) => claim('iat', seconds() + 15)(parts), says: 'clock' },
  { why: 'an iat in milliseconds', change: claim('iat', Date.now()), says: 'future' },
  { why: 'an exp that has passed', change: (parts) => claim('exp', seconds() - 1)(parts), says: 'exp' },
  { why: 'no nonce', change: claim('nonce', undefined), refusal: USE_NONCE },
  { why: 'an empty nonce', change: claim('nonce', ''), refusal: USE_NONCE },
  {
    why: 'a nonce of its own',
    change: claim('nonce', randomBytes(32).toString('base64url')),
    refusal: USE_NONCE,
  },
  { why: 'a nonce that is a number', change: claim('nonce', 7), says: 'nonce' },
  {
    why: 'a nonce of five minutes ago',
    change: async (parts, { auth }) => claim('nonce', await nonceOf(auth, -5))(parts),
    refusal: USE_NONCE,
  },
  {
    why: 'a nonce of the future',
    change: async (parts, { auth }) => claim('nonce', await nonceOf(auth, 5))(parts),
    refusal: USE_NONCE,
  },
  {
    why: 'a nonce under the secret of another installation',
    change: async (parts, { auth }) => claim('nonce', await nonceOf(auth, 0, randomBytes(32)))(parts),
    refusal: USE_NONCE,
  },
]

describe.for(TOKEN_PLACES)('DPoP proofs at the token endpoint, tokens in %s:', (tokens) => {
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
  describe('refuses', () => {
    test.for(HOSTILE)('$why', async ({ change, as, refusal = INVALID_PROOF, says }) => {
      const env = { auth, key, other }
      const honest = honestProof(auth, key, await nonceOf(auth))
      const hostile = { header: { ...honest.header }, claims: { ...honest.claims } }
      await change?.(hostile, env)
      const proof = await (as ?? ((parts) => signProof(parts, key)))(hostile, env)
      auth.confidential.add(String(honest.claims['jti']))
      await expectRefusal(auth, () => requestBound(auth, agent, proof), { ...refusal, ...(says && { says }) })
      // Its positive twin, with the same jti.
      tokenIn(auth, await requestBound(auth, agent, await signProof(honest, key)))
    })

    test.for([
      ['two headers', async () => [await proofOf(), await proofOf()]],
      ['the same header twice', async () => Array(2).fill(await proofOf())],
      ['a proof and an empty header', async () => [await proofOf(), '']],
    ] as [string, () => Promise<string[]>][])('%s', async ([_why, proofs]) => {
      const sent = await proofs()
      const body = new URLSearchParams(GRANT).toString()
      const request = async (all: string[]) => {
        const lines = [
          `Authorization: ${asAgent(agent).authorization}`,
          'Content-Type: application/x-www-form-urlencoded',
          `Content-Length: ${body.length}`,
          ...all.map((each) => `DPoP: ${each}`),
        ]
        return (await sendRaw(auth.url, rawRequest('POST /oauth/token', lines, body)))[0]!
      }
      await expectRefusal(auth, () => request(sent), { ...INVALID_PROOF, says: 'Send one DPoP header' })
      tokenIn(auth, await request(sent.slice(0, 1)))
    })

    test('a forged Host header with a proof for it', async () => {
      const [body, host] = [new URLSearchParams(GRANT).toString(), 'evil.example']
      const proof = await proofOf({ htu: `https://${host}/oauth/token` })
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

  test.for<[what: string, claims: () => object]>([
    ['a host in another case', () => ({ htu: 'https://PLAINPATH.example/oauth/token' })],
    ['the default port', () => ({ htu: 'https://plainpath.example:443/oauth/token' })],
    [
      'a query and a fragment, which are ignored',
      () => ({ htu: 'https://plainpath.example/oauth/token?a=b#c' }),
    ],
    ['an iat of almost a minute ago', () => ({ iat: seconds() - 50 })],
    ['a jti of 256 characters', () => ({ jti: 'x'.repeat(256) })],
    ['claims of its own', () => ({ ath: 'none', note: 'x' })],
  ])('accepts %s', async ([_what, claims]) => {
    expect(tokenIn(auth, await requestBound(auth, agent, await proofOf(claims())))).toMatch(/^ppt_/)
  })

  test.for([-1, 0, 1])(
    'accepts the nonce of %i minutes from now at both instances, and offers the newest',
    async (minutes) => {
      for (const at of [auth, otherInstance]) {
        const response = await requestBound(at, agent, await proofOf({ nonce: await nonceOf(auth, minutes) }))
        expect(response.status, response.text).toBe(200)
        const offered = response.headers.get('dpop-nonce')
        if (minutes < 1) expect(offered).toMatch(/^[\w-]{43}$/)
      }
    },
  )

  test('accepts at one instance the nonce that another offered', async () => {
    const offered = (
      await requestBound(otherInstance, agent, await proofOf({ nonce: undefined }))
    ).headers.get('dpop-nonce')
    const response = await requestBound(auth, agent, await proofOf({ nonce: offered }))
    expect(response.status, response.text).toBe(200)
  })
})
