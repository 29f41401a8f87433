import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { z } from 'zod'
import { ORIGIN, requestBytes, type Target } from '../load/target.ts'
import type { AgentWithToken } from './make-agents.ts'
import { basic, FORM, READING, sendRequest } from './send-request.ts'
import type { App } from './start-measured-app.ts'

/** More than a server answers; each signature takes about 30 µs, and each request 1 KB of memory. */
const MAX_PER_SECOND = 6_000

interface ProofKey {
  readonly privateKey: KeyObject
  readonly jwk: object
}

interface BoundToken extends ProofKey {
  readonly token: string
}

/**
 * Creates reads with tokens that are bound to keys. A proof is accepted once and for a minute, so `prepare` signs one for each
 * request that the next measurement can send, and signing is not measured.
 *
 * @param options.agents they get one token each, when `prepare` is called first
 */
export function boundRequests(options: {
  auth: App
  agents: readonly AgentWithToken[]
  path: string
}): Pick<Target, 'next'> & Required<Pick<Target, 'prepare'>> {
  const { auth, agents, path } = options
  let tokens: readonly BoundToken[] = []
  let pool: Buffer[] = []
  return {
    async prepare(seconds) {
      if (tokens.length === 0) tokens = await Promise.all(agents.map((agent) => issueBoundToken(auth, agent)))
      pool = []
      while (pool.length < seconds * MAX_PER_SECOND)
        for (const token of tokens) pool.push(signedRead(path, token))
    },
    next() {
      const request = pool.pop()
      if (!request) throw new Error(`more than ${MAX_PER_SECOND} requests a second were sent`)
      return request
    },
  }
}

function signedRead(path: string, { token, ...key }: BoundToken): Buffer {
  const ath = createHash('sha256').update(token).digest('base64url')
  const dpop = makeProof(key, { htm: 'GET', htu: `${ORIGIN}${path}`, ath })
  return requestBytes('GET', path, { headers: { ...READING, authorization: `DPoP ${token}`, dpop } })
}

/** Signs a proof (RFC 9449 §4.2) in one synchronous call, unlike jose. */
function makeProof({ privateKey, jwk }: ProofKey, claims: Readonly<Record<string, string>>): string {
  const iat = Math.floor(Date.now() / 1_000)
  const input = [
    { typ: 'dpop+jwt', alg: 'ES256', jwk },
    { jti: randomBytes(12).toString('base64url'), iat, ...claims },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

const Granted = z.object({ access_token: z.string(), token_type: z.literal('DPoP') })

/** Requests a token with a proof, once more with the nonce that the server asks for (RFC 9449 §8). */
async function issueBoundToken(auth: App, { id, secret }: AgentWithToken): Promise<BoundToken> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = { privateKey, jwk: publicKey.export({ format: 'jwk' }) }
  const request = (nonce?: string) =>
    sendRequest(auth.port, '/oauth/token', {
      method: 'POST',
      headers: {
        ...FORM,
        ...basic(id, secret),
        dpop: makeProof(key, { htm: 'POST', htu: `${ORIGIN}/oauth/token`, ...(nonce && { nonce }) }),
      },
      body: 'grant_type=client_credentials',
    })
  const first = await request()
  const { body } = first.status === 400 ? await request(first.headers['dpop-nonce']?.toString()) : first
  return { ...key, token: Granted.parse(JSON.parse(body.toString())).access_token }
}
