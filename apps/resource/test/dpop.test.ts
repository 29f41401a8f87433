import { generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  BAD_PROOF,
  BAD_TOKEN,
  type BoundRequest,
  expectRefused,
  hashOf,
  makeProof,
  newProofKey,
  type ProofChange,
  type ProofKeyPair,
  type Proven,
  rawJwt,
  sendBound,
} from './dpop-client.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const resources = new AsyncDisposableStack()
const ALSO = 'also.example'
let api: RunningResource
let key: ProofKeyPair
let otherKey: ProofKeyPair
let token: string
let now: Date
beforeAll(async () => {
  now = new Date()
  api = resources.use(await startResource({ now: () => now, env: { RESOURCE_ALSO_ACCEPT_HOSTS: ALSO } }))
  key = await newProofKey()
  otherKey = await newProofKey()
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  now = new Date()
  api.auth.tamper()
  token = api.auth.issueBound(key.jkt)
})

const url = (path = '/api/guides') => `${api.origin}${path}`
const proof = (change: ProofChange = {}, request: Partial<Proven> = {}, by = key) =>
  makeProof(by, { url: url(), token, ...request }, change, now)
const send = (request: Partial<BoundRequest>) => sendBound(api, { token, ...request })
async function stored(): Promise<number> {
  const { rows } = await api.db.query<{ count: number }>('select count(*)::int from used_proofs')
  return rows[0]?.count ?? -1
}
const seconds = (change: number) => Math.floor(now.getTime() / 1_000) + change

/** A good request by the same client is served, and its proof is the only one that is stored. */
async function expectTwin(before: number): Promise<void> {
  expect((await send({ proofs: [await proof()] })).status).toBe(200)
  expect(await stored()).toBe(before + 1)
}

type Hostile = [why: string, make: () => Promise<Partial<BoundRequest>>, refusal?: typeof BAD_PROOF]
const changed =
  (change: () => ProofChange, request?: () => Partial<Proven>) =>
  async (): Promise<Partial<BoundRequest>> => ({ proofs: [await proof(change(), request?.())] })
const claims = (members: () => Record<string, unknown>) => changed(() => ({ claims: members() }))
const htu = (make: () => string) => claims(() => ({ htu: make() }))
const headers = (members: () => Record<string, unknown>) => changed(() => ({ header: members() }))
const goodHeader = () => ({ typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk })
const goodClaims = () => ({ jti: 'raw', htm: 'GET', htu: url(), iat: seconds(0), ath: hashOf(token) })

const HOSTILE: Hostile[] = [
  ['of another method', claims(() => ({ htm: 'POST' }))],
  ['of the method in lower case', claims(() => ({ htm: 'get' }))],
  ['of HEAD for a GET', claims(() => ({ htm: 'HEAD' }))],
  ['of no method', claims(() => ({ htm: undefined }))],
  ['of another path', htu(() => url('/api/guides/avoid-scams'))],
  ['of the path with a slash behind it', htu(() => url('/api/guides/'))],
  ['of the path in another case', htu(() => url('/API/guides'))],
  ['of the path with an encoded slash', htu(() => url('/api%2Fguides'))],
  ['of the root', htu(() => api.origin)],
  ['of another host', htu(() => 'https://other.example/api/guides')],
  ['of another port', htu(() => `http://127.0.0.1:1/api/guides`)],
  ['of another scheme', htu(() => url().replace('http:', 'https:'))],
  ['of a host that only begins like ours', htu(() => url().replace(/:\d+/, '.evil.example'))],
  ['of our host as user information', htu(() => url().replace('://', '://127.0.0.1@'))],
  ['of a path without a host', htu(() => '/api/guides')],
  ['of a URL with backslashes', htu(() => url().replaceAll('/', '\\'))],
  ['of a URL with a blank before it', htu(() => ` ${url()}`)],
  ['of a list of URLs', claims(() => ({ htu: [url()] }))],
  ['of no URL', claims(() => ({ htu: undefined }))],
  [
    'of the host that the request names, not the configured one',
    async () => ({
      headers: { host: ALSO },
      proofs: [await proof({ claims: { htu: `http://${ALSO}/api/guides` } })],
    }),
  ],
  ['that is 61 s old', claims(() => ({ iat: seconds(-61) }))],
  ['that is five minutes old', claims(() => ({ iat: seconds(-300) }))],
  ['that is of the future', claims(() => ({ iat: seconds(12) }))],
  ['that has no time', claims(() => ({ iat: undefined }))],
  ['whose time is text', claims(() => ({ iat: String(seconds(0)) }))],
  ['that has expired by its own exp', claims(() => ({ exp: seconds(-1) }))],
  ['that is not valid yet by its own nbf', claims(() => ({ nbf: seconds(5) }))],
  ['with the hash of another token', claims(() => ({ ath: hashOf(api.auth.issueBound(key.jkt)) }))],
  ['with the token itself in place of its hash', claims(() => ({ ath: token }))],
  [
    'with the hash in hexadecimal',
    claims(() => ({ ath: Buffer.from(hashOf(token), 'base64url').toString('hex') })),
  ],
  ['without a hash of the token', claims(() => ({ ath: undefined }))],
  ['with an empty hash', claims(() => ({ ath: '' }))],
  ['without a jti', claims(() => ({ jti: undefined }))],
  ['with an empty jti', claims(() => ({ jti: '' }))],
  ['with a jti of 129 characters', claims(() => ({ jti: 'j'.repeat(129) }))],
  ['whose jti is a number', claims(() => ({ jti: 1 }))],
  ['by another key than that of the token', async () => ({ proofs: [await proof({}, {}, otherKey)] })],
  [
    'by another key that names the key of the token',
    async () => ({ proofs: [await proof({ header: { jwk: key.jwk } }, {}, otherKey)] }),
  ],
  ['of the type JWT', headers(() => ({ typ: 'JWT' }))],
  ['of no type', headers(() => ({ typ: undefined }))],
  ['of an access token', headers(() => ({ typ: 'at+jwt' }))],
  ['without a key', headers(() => ({ jwk: undefined }))],
  ['with a key only by its id', headers(() => ({ jwk: undefined, kid: key.jkt }))],
  ['with its private key', headers(() => ({ jwk: key.privateJwk }))],
  ['with an empty private member', headers(() => ({ jwk: { ...key.jwk, d: '' } }))],
  ['with a key that is a secret', headers(() => ({ jwk: { kty: 'oct', k: 'AAAA' } }))],
  ['with a point that is not on the curve', headers(() => ({ jwk: { ...key.jwk, y: key.jwk.x } }))],
  [
    'with an unknown critical header',
    async () => ({ proofs: [rawJwt({ ...goodHeader(), crit: ['x'], x: 1 }, goodClaims())] }),
  ],
  [
    'with the algorithm none',
    async () => ({ proofs: [rawJwt({ ...goodHeader(), alg: 'none' }, goodClaims())] }),
  ],
  [
    'with the algorithm none and no signature',
    async () => ({ proofs: [rawJwt({ ...goodHeader(), alg: 'none' }, goodClaims(), '')] }),
  ],
  [
    'with HS256 under the public key',
    async () => {
      const secret = Buffer.from(JSON.stringify(key.jwk))
      const signed = new SignJWT(goodClaims()).setProtectedHeader({ ...goodHeader(), alg: 'HS256' })
      return { proofs: [await signed.sign(secret)] }
    },
  ],
  [
    'with RS256',
    async () => {
      const { privateKey } = await generateKeyPair('RS256')
      const signed = new SignJWT(goodClaims()).setProtectedHeader({ ...goodHeader(), alg: 'RS256' })
      return { proofs: [await signed.sign(privateKey)] }
    },
  ],
  [
    'with the algorithm of another kind of key',
    async () => ({ proofs: [rawJwt({ ...goodHeader(), alg: 'EdDSA' }, goodClaims())] }),
  ],
  ['with a signature of nothing', async () => ({ proofs: [rawJwt(goodHeader(), goodClaims())] })],
  ['with a changed claim', async () => ({ proofs: [await tampered()] })],
  ['that is missing', async () => ({ proofs: [] })],
  ['that is empty', async () => ({ proofs: [''] })],
  ['that is no JWT', async () => ({ proofs: ['proof'] })],
  ['that is encrypted', async () => ({ proofs: [`${await proof()}.AAAA.AAAA`] })],
  ['beside a second one', async () => ({ proofs: [await proof(), await proof()] })],
  ['beside an empty one', async () => ({ proofs: [await proof(), ''] })],
  ['joined with a second one', async () => ({ proofs: [`${await proof()}, ${await proof()}`] })],
  ['of more than 4 KiB', headers(() => ({ more: 'x'.repeat(4_000) }))],
]

async function tampered(): Promise<string> {
  const [header, , signature] = (await proof()).split('.')
  const payload = Buffer.from(JSON.stringify(goodClaims())).toString('base64url')
  return [header, payload, signature].join('.')
}

describe('a proof is refused, and nothing is stored:', () => {
  test.for(HOSTILE)('%s', async ([, make]) => {
    const before = await stored()
    expectRefused(api, await send(await make()), BAD_PROOF)
    expect(await stored()).toBe(before)
    await expectTwin(before)
  })
})

describe('a proof is accepted', () => {
  test.for<[why: string, make: () => Promise<Partial<BoundRequest>>]>([
    ['of the URL with a query and a fragment', htu(() => `${url()}?limit=1#part`)],
    ['of the URL with its host in another case', htu(() => url().replace('http', 'HTTP'))],
    ['of the URL with dot segments', htu(() => url('/api/./other/../guides'))],
    ['of the URL with encoded unreserved characters', htu(() => url('/%61pi/guides'))],
    ['of a request with a query', async () => ({ path: '/api/guides?limit=1', proofs: [await proof()] })],
    ['that is 59 s old', claims(() => ({ iat: seconds(-59) }))],
    ['by a clock that is 9 s ahead', claims(() => ({ iat: seconds(9) }))],
    ['with a jti of 128 characters', claims(() => ({ jti: 'j'.repeat(128) }))],
    ['with further claims and headers', changed(() => ({ header: { kid: 'k' }, claims: { iss: 'x' } }))],
    [
      'of the configured origin, whatever accepted host the request names',
      async () => ({ headers: { host: ALSO }, proofs: [await proof()] }),
    ],
    [
      'behind the scheme in another case',
      async () => ({ authorization: [`dpop ${token}`], proofs: [await proof()] }),
    ],
  ])('%s', async ([, make]) => {
    const before = await stored()
    const response = await send(await make())
    expect(response.status, response.body).toBe(200)
    expect(response.headers['cache-control']).toBe('private, no-store')
    expect(await stored()).toBe(before + 1)
  })

  test.for(['ES256', 'Ed25519', 'EdDSA'])('by a key of %s', async (alg) => {
    const proofKey = await newProofKey(alg)
    const bound = api.auth.issueBound(proofKey.jkt)
    for (const _request of [1, 2]) {
      const response = await send({ token: bound, proofs: [await proof({}, { token: bound }, proofKey)] })
      expect(response.status, response.body).toBe(200)
    }
  })
})

describe('a token and its scheme have to fit:', () => {
  const unbound = () => api.auth.issue()
  test.for<Hostile>([
    ['a bound token as Bearer', async () => ({ authorization: [`Bearer ${token}`] }), BAD_TOKEN],
    [
      'a bound token as Bearer, with a good proof',
      async () => ({ authorization: [`Bearer ${token}`], proofs: [await proof()] }),
      BAD_TOKEN,
    ],
    [
      'an unbound token with the scheme DPoP and a good proof',
      async () => {
        const bearer = unbound()
        return { token: bearer, proofs: [await proof({}, { token: bearer })] }
      },
      BAD_TOKEN,
    ],
    ['an unbound token with the scheme DPoP and no proof', async () => ({ token: unbound() }), BAD_PROOF],
    [
      'an unbound token as Bearer, with a proof',
      async () => {
        const bearer = unbound()
        return { authorization: [`Bearer ${bearer}`], proofs: [await proof({}, { token: bearer })] }
      },
      BAD_TOKEN,
    ],
    [
      'a token that is unknown, with a good proof',
      async () => {
        const unknown = `ppt_${'A'.repeat(43)}`
        return { token: unknown, proofs: [await proof({}, { token: unknown })] }
      },
      BAD_TOKEN,
    ],
    [
      'a token that has expired, with a good proof',
      async () => {
        const expired = api.auth.issueBound(key.jkt, { exp: seconds(-1) })
        return { token: expired, proofs: [await proof({}, { token: expired })] }
      },
      BAD_TOKEN,
    ],
    [
      'a token of another service, with a good proof',
      async () => {
        const foreign = api.auth.issueBound(key.jkt, { aud: 'https://other.example' })
        return { token: foreign, proofs: [await proof({}, { token: foreign })] }
      },
      BAD_TOKEN,
    ],
  ])('%s', async ([, make, refusal = BAD_TOKEN]) => {
    const before = await stored()
    const response = await send(await make())
    const scheme = response.headers['www-authenticate']?.split(' ')[0]
    expect(scheme).toBe('DPoP')
    expectRefused(api, response, refusal)
    expect(await stored()).toBe(before)
    await expectTwin(before)
  })

  test('a bound token behind both schemes at once is 400', async () => {
    const before = await stored()
    for (const authorization of [
      [`Bearer ${token}`, `DPoP ${token}`],
      [`DPoP ${token}`, `Bearer ${token}`],
    ]) {
      const response = await send({ authorization, proofs: [await proof()] })
      expectProblem(response, { status: 400, code: 'invalid-request' })
    }
    expect(await stored()).toBe(before)
    await expectTwin(before)
  })

  test('a request without a token keeps the one challenge for Bearer, and a proof alone is ignored', async () => {
    const missing = await sendRequest(api.origin, {
      path: '/api/contact/0197f3a0-0000-7000-8000-000000000000',
      headers: { dpop: await proof() },
    })
    expectProblem(missing, { status: 401, code: 'token-required' })
    expect(missing.headers['www-authenticate']).toMatch(/^Bearer [^D]*$/)
    const open = await sendRequest(api.origin, { path: '/api/guides', headers: { dpop: 'nonsense' } })
    expect(open.headers['cache-control']).toBe('public, max-age=300')
  })

  test('a token in the query is refused as ever', async () => {
    const path = `/api/guides?access_token=${token}`
    expectProblem(await send({ path, proofs: [await proof()] }), { status: 400, code: 'invalid-request' })
  })
})

test('a proof by another key is refused, also when the key of the token was never seen', async () => {
  const fresh = await newProofKey()
  const bound = api.auth.issueBound(fresh.jkt)
  const before = await stored()
  for (const each of [otherKey, key])
    expectRefused(
      api,
      await send({ token: bound, proofs: [await proof({}, { token: bound }, each)] }),
      BAD_PROOF,
    )
  expect(await stored()).toBe(before)
  expect((await send({ token: bound, proofs: [await proof({}, { token: bound }, fresh)] })).status).toBe(200)
})

test('a proof is accepted once', async () => {
  const once = [await proof()]
  const before = await stored()
  expect((await send({ proofs: once })).status).toBe(200)
  expectRefused(api, await send({ proofs: once }), BAD_PROOF)
  expect(await stored()).toBe(before + 1)
})

test('another client may use the same jti', async () => {
  const jti = { claims: { jti: 'shared' } }
  const other = api.auth.issueBound(otherKey.jkt)
  expect((await send({ proofs: [await proof(jti)] })).status).toBe(200)
  const theirs = await proof(jti, { token: other }, otherKey)
  expect((await send({ token: other, proofs: [theirs] })).status).toBe(200)
})

test('a token that was revoked is refused with a good proof, which is not stored', async () => {
  expect((await send({ proofs: [await proof()] })).status).toBe(200)
  const before = await stored()
  api.auth.revoke(token)
  expectRefused(api, await send({ proofs: [await proof()] }), BAD_TOKEN)
  expect(await stored()).toBe(before)
})

test('a proof that is refused for its claims costs no introspection', async () => {
  const before = api.auth.requests.introspection
  expectRefused(api, await send({ proofs: [await proof({ claims: { htm: 'PUT' } })] }), BAD_PROOF)
  expect(api.auth.requests.introspection).toBe(before)
})

test('HEAD needs a proof of HEAD', async () => {
  const before = await stored()
  expect((await send({ method: 'HEAD', proofs: [await proof()] })).status).toBe(401)
  expect(await stored()).toBe(before)
  expect((await send({ method: 'HEAD', proofs: [await proof({}, { method: 'HEAD' })] })).status).toBe(200)
})

test('no token and no proof reaches the log', () => {
  expect(api.logged.length).toBeGreaterThan(20)
  expect(api.logged.join('')).not.toMatch(/ppt_|eyJ/)
})
