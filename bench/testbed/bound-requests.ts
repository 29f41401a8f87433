import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { z } from 'zod'
import { formatRequest, ORIGIN, type Target } from '../load/target.ts'
import type { AgentWithToken } from './register-agents.ts'
import { basicAuthorization, FORM_HEADERS, READ_HEADERS, sendRequest } from './send-request.ts'
import type { MeasuredApp } from './start-measured-app.ts'

/** The prepared requests per second of measurement: more than any measured server handles. Each takes about 30 µs to sign, and 1 KB of memory. */
const MAX_PER_SECOND = 6_000

interface ProofKey {
  readonly privateKey: KeyObject
  readonly jwk: object
}

interface BoundToken extends ProofKey {
  readonly token: string
}

/**
 * Creates reads with tokens that are bound to keys. Each read needs a proof of its own, which is accepted for a minute. So `prepare`
 * signs one for each possible request of the next measurement, and the signing itself is not measured.
 *
 * @param options.agents the agents that receive one token each, at the first call of `prepare`
 * @param options.path the path of the API that each request reads
 */
export function createBoundRequests(options: {
  auth: MeasuredApp
  agents: readonly AgentWithToken[]
  path: string
}): Pick<Target, 'next'> & Required<Pick<Target, 'prepare'>> {
  const { auth, agents, path } = options
  const tokens: BoundToken[] = []
  let requests: Buffer[] = []
  return {
    async prepare(seconds) {
      // One request at a time, since auth may refuse some of many concurrent requests when the machine is busy.
      if (tokens.length === 0) for (const agent of agents) tokens.push(await issueBoundToken(auth, agent))
      requests = []
      while (requests.length < seconds * MAX_PER_SECOND)
        for (const token of tokens) requests.push(createSignedRead(path, token))
    },
    next() {
      const request = requests.pop()
      if (!request) throw new Error(`more than ${MAX_PER_SECOND} requests a second were sent`)
      return request
    },
  }
}

function createSignedRead(path: string, { token, ...key }: BoundToken): Buffer {
  const ath = createHash('sha256').update(token).digest('base64url')
  const dpop = signProof(key, { htm: 'GET', htu: `${ORIGIN}${path}`, ath })
  return formatRequest('GET', path, { headers: { ...READ_HEADERS, authorization: `DPoP ${token}`, dpop } })
}

/** Signs a proof (RFC 9449 §4.2) synchronously, which jose cannot do. */
function signProof({ privateKey, jwk }: ProofKey, claims: Readonly<Record<string, string>>): string {
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

const TokenResponse = z.object({ access_token: z.string(), token_type: z.literal('DPoP') })

/** Requests a token with a proof, and repeats the request with the nonce that the server requires (RFC 9449 §8). */
async function issueBoundToken(auth: MeasuredApp, { id, secret }: AgentWithToken): Promise<BoundToken> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = { privateKey, jwk: publicKey.export({ format: 'jwk' }) }
  const requestToken = (nonce?: string) =>
    sendRequest(auth.port, '/oauth/token', {
      method: 'POST',
      headers: {
        ...FORM_HEADERS,
        ...basicAuthorization(id, secret),
        dpop: signProof(key, { htm: 'POST', htu: `${ORIGIN}/oauth/token`, ...(nonce && { nonce }) }),
      },
      body: 'grant_type=client_credentials',
    })
  const firstResponse = await requestToken()
  const { status, body } =
    firstResponse.status === 400
      ? await requestToken(firstResponse.headers['dpop-nonce']?.toString())
      : firstResponse
  if (status !== 200) throw new Error(`a token that is bound to a key: ${status} ${body.toString()}`)
  return { ...key, token: TokenResponse.parse(JSON.parse(body.toString())).access_token }
}
