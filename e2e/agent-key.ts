import { createHash, generateKeyPairSync, type JsonWebKey, randomUUID, sign } from 'node:crypto'

/** The request that a proof covers (RFC 9449 §4.2). */
interface ProvenRequest {
  readonly method: string
  /** Without query and fragment. */
  readonly url: string
  /** The access token that the request presents, if any. */
  readonly token?: string
  /** The nonce that the server requires in the proof, if any. */
  readonly nonce?: string | undefined
}

/** An agent's Ed25519 key. */
export interface AgentKey {
  readonly publicJwk: JsonWebKey
  /** Signs a DPoP proof. */
  signProof(request: ProvenRequest): string
  /** Signs a client assertion (RFC 7523) that expires after a minute. @param audience the issuer of the authorization server */
  signAssertion(clientId: string, audience: string): string
}

const ASSERTION_SECONDS = 60

const encodeJson = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const nowSeconds = () => Math.floor(Date.now() / 1000)

/** Generates a key. Each of its signatures has a new `jti` and the current time. */
export function createAgentKey(): AgentKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const publicJwk = publicKey.export({ format: 'jwk' })
  const proofHeader = encodeJson({ typ: 'dpop+jwt', alg: 'EdDSA', jwk: publicJwk })
  const assertionHeader = encodeJson({ typ: 'JWT', alg: 'EdDSA' })
  const signJwt = (header: string, claims: object) => {
    const input = `${header}.${encodeJson({ jti: randomUUID(), iat: nowSeconds(), ...claims })}`
    return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`
  }
  return {
    publicJwk,
    signProof: ({ method, url, token, nonce }) =>
      signJwt(proofHeader, {
        htm: method,
        htu: url,
        ...(token !== undefined && { ath: createHash('sha256').update(token).digest('base64url') }),
        ...(nonce !== undefined && { nonce }),
      }),
    signAssertion: (clientId, audience) =>
      signJwt(assertionHeader, {
        iss: clientId,
        sub: clientId,
        aud: audience,
        exp: nowSeconds() + ASSERTION_SECONDS,
      }),
  }
}
