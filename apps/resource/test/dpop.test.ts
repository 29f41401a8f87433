import { generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  BAD_PROOF,
  BAD_TOKEN,
  type BoundRequest,
  buildRawJwt,
  expectRefused,
  generateProofKeyPair,
  hashToken,
  makeProof,
  type ProofChange,
  type ProofKeyPair,
  type ProvenRequest,
  sendBoundRequest,
} from './dpop-client.ts'
import { expectProblem, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const resources = new AsyncDisposableStack()
const OTHER_ACCEPTED_HOST = 'also.example'
let api: RunningResource
let key: ProofKeyPair
let otherKey: ProofKeyPair
let token: string
let now: Date
beforeAll(async () => {
  now = new Date()
  api = resources.use(
    await startResource({ now: () => now, env: { RESOURCE_ALSO_ACCEPT_HOSTS: OTHER_ACCEPTED_HOST } }),
  )
  key = await generateProofKeyPair()
  otherKey = await generateProofKeyPair()
})
afterAll(() => resources.disposeAsync())
beforeEach(() => {
  now = new Date()
  api.auth.stopTampering()
  token = api.auth.issueBound(key.jkt)
})

const getUrl = (path = '/api/guides') => `${api.origin}${path}`
const prove = (change: ProofChange = {}, request: Partial<ProvenRequest> = {}, signer = key) =>
  makeProof(signer, { url: getUrl(), token, ...request }, change, now)
const send = (request: Partial<BoundRequest>) => sendBoundRequest(api, { token, ...request })
async function countUsedProofs(): Promise<number> {
  const { rows } = await api.db.query<{ count: number }>('select count(*)::int from used_proofs')
  // The query always returns a row.
  return rows[0]?.count ?? -1
}
const secondsFromNow = (offset: number) => Math.floor(now.getTime() / 1_000) + offset

/** Expects that a valid request of the same client is served, and that only its proof is stored. */
async function expectValidRequest(countBefore: number): Promise<void> {
  expect((await send({ proofs: [await prove()] })).status).toBe(200)
  expect(await countUsedProofs()).toBe(countBefore + 1)
}

type RefusedCase = [
  title: string,
  createRequest: () => Promise<Partial<BoundRequest>>,
  refusal?: typeof BAD_PROOF,
]
const withChange = (getChange: () => ProofChange) => async (): Promise<Partial<BoundRequest>> => ({
  proofs: [await prove(getChange())],
})
const withClaims = (getClaims: () => Record<string, unknown>) => withChange(() => ({ claims: getClaims() }))
const withHtu = (getHtu: () => string) => withClaims(() => ({ htu: getHtu() }))
const withHeader = (getMembers: () => Record<string, unknown>) => withChange(() => ({ header: getMembers() }))
const createHeader = () => ({ typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk })
const createClaims = () => ({
  jti: 'raw',
  htm: 'GET',
  htu: getUrl(),
  iat: secondsFromNow(0),
  ath: hashToken(token),
})

const INVALID_PROOFS: RefusedCase[] = [
  ['for another method', withClaims(() => ({ htm: 'POST' }))],
  ['for the method in lower case', withClaims(() => ({ htm: 'get' }))],
  ['for HEAD, sent with a GET', withClaims(() => ({ htm: 'HEAD' }))],
  ['for no method', withClaims(() => ({ htm: undefined }))],
  ['for another path', withHtu(() => getUrl('/api/guides/avoid-scams'))],
  ['for the path with a trailing slash', withHtu(() => getUrl('/api/guides/'))],
  ['for the path in another case', withHtu(() => getUrl('/API/guides'))],
  ['for the path with an encoded slash', withHtu(() => getUrl('/api%2Fguides'))],
  ['for the root', withHtu(() => api.origin)],
  ['for another host', withHtu(() => 'https://other.example/api/guides')],
  ['for another port', withHtu(() => `http://127.0.0.1:1/api/guides`)],
  ['for another scheme', withHtu(() => getUrl().replace('http:', 'https:'))],
  ['for another host that begins like ours', withHtu(() => getUrl().replace(/:\d+/, '.evil.example'))],
  ['for our host name as userinfo', withHtu(() => getUrl().replace('://', '://127.0.0.1@'))],
  ['for a path without a host', withHtu(() => '/api/guides')],
  ['for a URL with backslashes', withHtu(() => getUrl().replaceAll('/', '\\'))],
  ['for a URL with a leading space', withHtu(() => ` ${getUrl()}`)],
  ['for a list of URLs', withClaims(() => ({ htu: [getUrl()] }))],
  ['for no URL', withClaims(() => ({ htu: undefined }))],
  [
    'for the accepted host that the request names, which is not that of the origin',
    async () => ({
      headers: { host: OTHER_ACCEPTED_HOST },
      proofs: [await prove({ claims: { htu: `http://${OTHER_ACCEPTED_HOST}/api/guides` } })],
    }),
  ],
  // A proof may be 60 s old and 10 s ahead of the clock. These differ by more, and those accepted below by less.
  ['that is 61 s old', withClaims(() => ({ iat: secondsFromNow(-61) }))],
  ['that is five minutes old', withClaims(() => ({ iat: secondsFromNow(-300) }))],
  ['that is 12 s ahead of the clock', withClaims(() => ({ iat: secondsFromNow(12) }))],
  ['without an iat', withClaims(() => ({ iat: undefined }))],
  ['whose iat is a string', withClaims(() => ({ iat: String(secondsFromNow(0)) }))],
  ['whose exp has passed', withClaims(() => ({ exp: secondsFromNow(-1) }))],
  ['whose nbf is in the future', withClaims(() => ({ nbf: secondsFromNow(5) }))],
  ['with the hash of another token', withClaims(() => ({ ath: hashToken(api.auth.issueBound(key.jkt)) }))],
  ['with the token itself in place of its hash', withClaims(() => ({ ath: token }))],
  [
    'with the hash in hexadecimal',
    withClaims(() => ({ ath: Buffer.from(hashToken(token), 'base64url').toString('hex') })),
  ],
  ['without a hash of the token', withClaims(() => ({ ath: undefined }))],
  ['with an empty hash', withClaims(() => ({ ath: '' }))],
  ['without a jti', withClaims(() => ({ jti: undefined }))],
  ['with an empty jti', withClaims(() => ({ jti: '' }))],
  ['with a jti of 257 characters', withClaims(() => ({ jti: 'j'.repeat(257) }))],
  ['whose jti is a number', withClaims(() => ({ jti: 1 }))],
  ['by a key other than that of the token', async () => ({ proofs: [await prove({}, {}, otherKey)] })],
  [
    'by another key, with the key of the token in the header',
    async () => ({ proofs: [await prove({ header: { jwk: key.jwk } }, {}, otherKey)] }),
  ],
  ['of the type JWT', withHeader(() => ({ typ: 'JWT' }))],
  ['of no type', withHeader(() => ({ typ: undefined }))],
  ['of the type of access tokens', withHeader(() => ({ typ: 'at+jwt' }))],
  ['without a key', withHeader(() => ({ jwk: undefined }))],
  ['with the id of a key instead of the key', withHeader(() => ({ jwk: undefined, kid: key.jkt }))],
  ['with its private key', withHeader(() => ({ jwk: key.privateJwk }))],
  ['with an empty private member', withHeader(() => ({ jwk: { ...key.jwk, d: '' } }))],
  ['with a key that is a secret', withHeader(() => ({ jwk: { kty: 'oct', k: 'AAAA' } }))],
  ['with a point that is not on the curve', withHeader(() => ({ jwk: { ...key.jwk, y: key.jwk.x } }))],
  [
    'with an unknown critical header',
    async () => ({ proofs: [buildRawJwt({ ...createHeader(), crit: ['x'], x: 1 }, createClaims())] }),
  ],
  [
    'with the algorithm none',
    async () => ({ proofs: [buildRawJwt({ ...createHeader(), alg: 'none' }, createClaims())] }),
  ],
  [
    'with the algorithm none and no signature',
    async () => ({ proofs: [buildRawJwt({ ...createHeader(), alg: 'none' }, createClaims(), '')] }),
  ],
  [
    'with HS256, with the public key as the secret',
    async () => {
      const secret = Buffer.from(JSON.stringify(key.jwk))
      const signed = new SignJWT(createClaims()).setProtectedHeader({ ...createHeader(), alg: 'HS256' })
      return { proofs: [await signed.sign(secret)] }
    },
  ],
  [
    'with RS256',
    async () => {
      const { privateKey } = await generateKeyPair('RS256')
      const signed = new SignJWT(createClaims()).setProtectedHeader({ ...createHeader(), alg: 'RS256' })
      return { proofs: [await signed.sign(privateKey)] }
    },
  ],
  [
    'with the algorithm of another kind of key',
    async () => ({ proofs: [buildRawJwt({ ...createHeader(), alg: 'EdDSA' }, createClaims())] }),
  ],
  ['with a wrong signature', async () => ({ proofs: [buildRawJwt(createHeader(), createClaims())] })],
  [
    'with claims that were changed after signing',
    async () => ({ proofs: [await createProofWithOtherClaims()] }),
  ],
  ['that is missing', async () => ({ proofs: [] })],
  ['that is empty', async () => ({ proofs: [''] })],
  ['that is not a JWT', async () => ({ proofs: ['proof'] })],
  ['that is encrypted', async () => ({ proofs: [`${await prove()}.AAAA.AAAA`] })],
  ['together with a second one', async () => ({ proofs: [await prove(), await prove()] })],
  ['together with an empty one', async () => ({ proofs: [await prove(), ''] })],
  ['joined with a second one by a comma', async () => ({ proofs: [`${await prove()}, ${await prove()}`] })],
  // In base64url, 4,000 characters become more than 5,000.
  ['of more than 4 KiB', withHeader(() => ({ more: 'x'.repeat(4_000) }))],
]

/** Creates a proof whose claims were replaced after it was signed. */
async function createProofWithOtherClaims(): Promise<string> {
  const [header, , signature] = (await prove()).split('.')
  const payload = Buffer.from(JSON.stringify(createClaims())).toString('base64url')
  return [header, payload, signature].join('.')
}

describe('a proof is refused, and nothing is stored:', () => {
  test.for(INVALID_PROOFS)('%s', async ([, createRequest]) => {
    const countBefore = await countUsedProofs()
    expectRefused(api, await send(await createRequest()), BAD_PROOF)
    expect(await countUsedProofs()).toBe(countBefore)
    await expectValidRequest(countBefore)
  })
})

describe('a proof is accepted', () => {
  test.for<[title: string, createRequest: () => Promise<Partial<BoundRequest>>]>([
    ['for the URL with a query and a fragment', withHtu(() => `${getUrl()}?limit=1#part`)],
    ['for the URL with its scheme in another case', withHtu(() => getUrl().replace('http', 'HTTP'))],
    ['for the URL with dot segments', withHtu(() => getUrl('/api/./other/../guides'))],
    ['for the URL with encoded unreserved characters', withHtu(() => getUrl('/%61pi/guides'))],
    ['for a request with a query', async () => ({ path: '/api/guides?limit=1', proofs: [await prove()] })],
    ['that is 59 s old', withClaims(() => ({ iat: secondsFromNow(-59) }))],
    ['that is 9 s ahead of the clock', withClaims(() => ({ iat: secondsFromNow(9) }))],
    ['with a jti of 256 characters', withClaims(() => ({ jti: 'j'.repeat(256) }))],
    ['with further claims and headers', withChange(() => ({ header: { kid: 'k' }, claims: { iss: 'x' } }))],
    [
      'for the configured origin, although the request names another accepted host',
      async () => ({ headers: { host: OTHER_ACCEPTED_HOST }, proofs: [await prove()] }),
    ],
    [
      'after the scheme in another case',
      async () => ({ authorization: [`dpop ${token}`], proofs: [await prove()] }),
    ],
  ])('%s', async ([, createRequest]) => {
    const countBefore = await countUsedProofs()
    const response = await send(await createRequest())
    expect(response.status, response.body).toBe(200)
    expect(response.headers['cache-control']).toBe('private, no-store')
    expect(await countUsedProofs()).toBe(countBefore + 1)
  })

  test.for(['ES256', 'Ed25519', 'EdDSA'])('with the algorithm %s', async (alg) => {
    const proofKey = await generateProofKeyPair(alg)
    const boundToken = api.auth.issueBound(proofKey.jkt)
    for (const _request of [1, 2]) {
      const response = await send({
        token: boundToken,
        proofs: [await prove({}, { token: boundToken }, proofKey)],
      })
      expect(response.status, response.body).toBe(200)
    }
  })
})

describe('a token is refused with a DPoP challenge, and no proof is stored:', () => {
  const issueBearer = () => api.auth.issue()
  test.for<RefusedCase>([
    ['a bound token as Bearer', async () => ({ authorization: [`Bearer ${token}`] }), BAD_TOKEN],
    [
      'a bound token as Bearer, with a valid proof',
      async () => ({ authorization: [`Bearer ${token}`], proofs: [await prove()] }),
      BAD_TOKEN,
    ],
    [
      'an unbound token with the scheme DPoP and a valid proof',
      async () => {
        const bearer = issueBearer()
        return { token: bearer, proofs: [await prove({}, { token: bearer })] }
      },
      BAD_TOKEN,
    ],
    ['an unbound token with the scheme DPoP and no proof', async () => ({ token: issueBearer() }), BAD_PROOF],
    [
      'an unbound token as Bearer, with a proof',
      async () => {
        const bearer = issueBearer()
        return { authorization: [`Bearer ${bearer}`], proofs: [await prove({}, { token: bearer })] }
      },
      BAD_TOKEN,
    ],
    [
      'an unknown token, with a valid proof',
      async () => {
        const unknownToken = `ppt_${'A'.repeat(43)}`
        return { token: unknownToken, proofs: [await prove({}, { token: unknownToken })] }
      },
      BAD_TOKEN,
    ],
    [
      'an expired token, with a valid proof',
      async () => {
        const expiredToken = api.auth.issueBound(key.jkt, { exp: secondsFromNow(-1) })
        return { token: expiredToken, proofs: [await prove({}, { token: expiredToken })] }
      },
      BAD_TOKEN,
    ],
    [
      'a token of another service, with a valid proof',
      async () => {
        const foreignToken = api.auth.issueBound(key.jkt, { aud: 'https://other.example' })
        return { token: foreignToken, proofs: [await prove({}, { token: foreignToken })] }
      },
      BAD_TOKEN,
    ],
  ])('%s', async ([, createRequest, refusal = BAD_TOKEN]) => {
    const countBefore = await countUsedProofs()
    const response = await send(await createRequest())
    const scheme = response.headers['www-authenticate']?.split(' ')[0]
    expect(scheme).toBe('DPoP')
    expectRefused(api, response, refusal)
    expect(await countUsedProofs()).toBe(countBefore)
    await expectValidRequest(countBefore)
  })

  test('or with a 400 if a bound token is sent with both schemes', async () => {
    const countBefore = await countUsedProofs()
    for (const authorization of [
      [`Bearer ${token}`, `DPoP ${token}`],
      [`DPoP ${token}`, `Bearer ${token}`],
    ]) {
      const response = await send({ authorization, proofs: [await prove()] })
      expectProblem(response, { status: 400, code: 'invalid-request' })
    }
    expect(await countUsedProofs()).toBe(countBefore)
    await expectValidRequest(countBefore)
  })

  test('but a proof without a token gets a Bearer challenge, or is ignored on a public route', async () => {
    const scopedResponse = await sendRequest(api.origin, {
      path: '/api/contact/0197f3a0-0000-7000-8000-000000000000',
      headers: { dpop: await prove() },
    })
    expectProblem(scopedResponse, { status: 401, code: 'token-required' })
    expect(scopedResponse.headers['www-authenticate']).toMatch(/^Bearer (?!.*dpop)/i)
    const publicResponse = await sendRequest(api.origin, {
      path: '/api/guides',
      headers: { dpop: 'nonsense' },
    })
    expect(publicResponse.headers['cache-control']).toBe('public, max-age=300')
  })

  test('or with a 400 if the token is in the query, even with a valid proof', async () => {
    const path = `/api/guides?access_token=${token}`
    expectProblem(await send({ path, proofs: [await prove()] }), { status: 400, code: 'invalid-request' })
  })
})

test('a proof signed with another key than that of the token is refused, even if the key of the token was never used before', async () => {
  const unusedKey = await generateProofKeyPair()
  const boundToken = api.auth.issueBound(unusedKey.jkt)
  const countBefore = await countUsedProofs()
  for (const wrongKey of [otherKey, key]) {
    const proofs = [await prove({}, { token: boundToken }, wrongKey)]
    expectRefused(api, await send({ token: boundToken, proofs }), BAD_PROOF)
  }
  expect(await countUsedProofs()).toBe(countBefore)
  expect(
    (await send({ token: boundToken, proofs: [await prove({}, { token: boundToken }, unusedKey)] })).status,
  ).toBe(200)
})

test('a proof is accepted once', async () => {
  const proofs = [await prove()]
  const countBefore = await countUsedProofs()
  expect((await send({ proofs })).status).toBe(200)
  expectRefused(api, await send({ proofs }), BAD_PROOF)
  expect(await countUsedProofs()).toBe(countBefore + 1)
})

test('another client may use the same jti', async () => {
  const sharedJti = { claims: { jti: 'shared' } }
  const otherToken = api.auth.issueBound(otherKey.jkt)
  expect((await send({ proofs: [await prove(sharedJti)] })).status).toBe(200)
  const otherProof = await prove(sharedJti, { token: otherToken }, otherKey)
  expect((await send({ token: otherToken, proofs: [otherProof] })).status).toBe(200)
})

test('a revoked token is refused with a valid proof, which is not stored', async () => {
  expect((await send({ proofs: [await prove()] })).status).toBe(200)
  const countBefore = await countUsedProofs()
  api.auth.revoke(token)
  expectRefused(api, await send({ proofs: [await prove()] }), BAD_TOKEN)
  expect(await countUsedProofs()).toBe(countBefore)
})

test('a proof that is refused for its claims causes no introspection', async () => {
  const introspectionsBefore = api.auth.requests.introspection
  expectRefused(api, await send({ proofs: [await prove({ claims: { htm: 'PUT' } })] }), BAD_PROOF)
  expect(api.auth.requests.introspection).toBe(introspectionsBefore)
})

test('a HEAD request needs a proof for HEAD', async () => {
  const countBefore = await countUsedProofs()
  expect((await send({ method: 'HEAD', proofs: [await prove()] })).status).toBe(401)
  expect(await countUsedProofs()).toBe(countBefore)
  expect((await send({ method: 'HEAD', proofs: [await prove({}, { method: 'HEAD' })] })).status).toBe(200)
})

test('no token and no proof is logged', async () => {
  const lineCountBefore = api.logLines.length
  expect((await send({ proofs: [await prove()] })).status).toBe(200)
  expect((await send({ authorization: [`Bearer ${token}`, `DPoP ${token}`] })).status).toBe(400)
  expect(api.logLines.length).toBeGreaterThan(lineCountBefore)
  expect(api.logLines.join('')).not.toMatch(/ppt_|eyJ/)
})
