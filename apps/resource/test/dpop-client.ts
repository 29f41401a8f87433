import { createHash, randomUUID } from 'node:crypto'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { expect } from 'vitest'
import { expectProblem, type HttpResponse, sendRequest } from './send-request.ts'
import type { RunningResource } from './start-resource.ts'

/** The key pair with which a client signs its proofs. */
export interface ProofKeyPair {
  readonly privateKey: CryptoKey
  readonly alg: string
  /** The public key. */
  readonly jwk: JWK
  readonly privateJwk: JWK
  /** The thumbprint of the public key (RFC 7638). */
  readonly jkt: string
}

/** Generates a key pair whose private key can be exported. @param alg the algorithm of the proofs */
export async function generateProofKeyPair(alg = 'ES256'): Promise<ProofKeyPair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return {
    privateKey,
    alg,
    jwk,
    privateJwk: await exportJWK(privateKey),
    jkt: await calculateJwkThumbprint(jwk),
  }
}

/** The request that a proof is for. */
export interface ProvenRequest {
  readonly method?: string
  /** The absolute URL. */
  readonly url: string
  readonly token: string
}

/** The members in which a proof differs from a correct one. An undefined member is left out of the proof. */
export interface ProofChange {
  readonly header?: Readonly<Record<string, unknown>>
  readonly claims?: Readonly<Record<string, unknown>>
}

/** Computes the claim `ath` of a proof. */
export const hashToken = (token: string) => createHash('sha256').update(token).digest('base64url')

/** Makes a proof (RFC 9449 §4.2) with `now` as its time of issue. */
export function makeProof(
  key: ProofKeyPair,
  { method = 'GET', url, token }: ProvenRequest,
  { header = {}, claims = {} }: ProofChange = {},
  now = new Date(),
): Promise<string> {
  const payload = {
    jti: randomUUID(),
    htm: method,
    htu: url,
    iat: Math.floor(now.getTime() / 1_000),
    ath: hashToken(token),
    ...claims,
  }
  return new SignJWT(payload)
    .setProtectedHeader({ typ: 'dpop+jwt', alg: key.alg, jwk: key.jwk, ...header })
    .sign(key.privateKey)
}

/** Builds a JWT that has the given text in place of a signature. */
export const buildRawJwt = (header: object, claims: object, signature = 'AAAA') =>
  [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .concat(signature)
    .join('.')

/** A request with a bound token. */
export interface BoundRequest {
  readonly method?: string
  readonly path?: string
  readonly token: string
  /** Each proof is sent in its own `DPoP` header. */
  readonly proofs?: readonly string[]
  /** The values of the Authorization headers; by default one, with the scheme DPoP and the token. */
  readonly authorization?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/** Sends a request with an access token and proofs. By default, the request is a GET of the list of guides. */
export function sendBoundRequest(
  api: Pick<RunningResource, 'origin'>,
  request: BoundRequest,
): Promise<HttpResponse> {
  const { method = 'GET', path = '/api/guides', token, proofs = [], body, headers } = request
  const content = body && JSON.stringify(body)
  const singleHeaders = {
    host: new URL(api.origin).host,
    accept: 'application/json, text/event-stream',
    ...(content !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(content)),
    }),
    ...headers,
  }
  const rawHeaders = [
    ...Object.entries(singleHeaders).flat(),
    ...(request.authorization ?? [`DPoP ${token}`]).flatMap((value) => ['Authorization', value]),
    ...proofs.flatMap((proof) => ['DPoP', proof]),
  ]
  return sendRequest(api.origin, {
    method,
    path,
    rawHeaders,
    ...(content !== undefined && { body: content }),
  })
}

/**
 * Expects a 401 with a DPoP challenge, and a body that contains no token and no proof.
 *
 * @param expected.path what follows `/api` in the path of the resource that the challenge names
 */
export function expectRefused(
  api: Pick<RunningResource, 'origin'>,
  response: HttpResponse,
  expected: { code: string; error: string; path?: string },
): void {
  const { code, error, path = '' } = expected
  expectProblem(response, { status: 401, code })
  const metadata = `${api.origin}/.well-known/oauth-protected-resource/api${path}`
  expect(response.headers['www-authenticate']).toMatch(
    new RegExp(
      `^DPoP realm="plainpath", error="${error}", algs="ES256 EdDSA Ed25519", scope="[a-z: ]+", resource_metadata="${metadata}"$`,
    ),
  )
  expect(response.body).not.toMatch(/ppt_|eyJ/)
}

/** The problem code, and the `error` of the challenge, for an invalid proof. */
export const BAD_PROOF = { code: 'invalid-token-proof', error: 'invalid_dpop_proof' }
/** The same for a refused token. */
export const BAD_TOKEN = { code: 'invalid-token', error: 'invalid_token' }
