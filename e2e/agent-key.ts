import { createHash, generateKeyPairSync, type JsonWebKey, randomUUID, sign } from 'node:crypto'

/** The request for which a proof is signed (RFC 9449 §4.2). */
interface ProvenRequest {
  readonly method: string
  /** Without query and fragment. */
  readonly url: string
  readonly token?: string
  readonly nonce?: string | undefined
}

/** An Ed25519 key of an agent, which signs synchronously. */
export interface AgentKey {
  readonly publicJwk: JsonWebKey
  /** Signs a DPoP proof. */
  proof(request: ProvenRequest): string
  /** Signs a client assertion (RFC 7523). @param audience the issuer */
  assertion(clientId: string, audience: string): string
}

const ASSERTION_SECONDS = 60

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const now = () => Math.floor(Date.now() / 1000)

/** Generates a key pair. */
export function createAgentKey(): AgentKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const publicJwk = publicKey.export({ format: 'jwk' })
  const proofHeader = encode({ typ: 'dpop+jwt', alg: 'EdDSA', jwk: publicJwk })
  const assertionHeader = encode({ typ: 'JWT', alg: 'EdDSA' })
  const signJwt = (header: string, claims: object) => {
    const input = `${header}.${encode({ jti: randomUUID(), iat: now(), ...claims })}`
    return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`
  }
  return {
    publicJwk,
    proof: ({ method, url, token, nonce }) =>
      signJwt(proofHeader, {
        htm: method,
        htu: url,
        ...(token !== undefined && { ath: createHash('sha256').update(token).digest('base64url') }),
        ...(nonce !== undefined && { nonce }),
      }),
    assertion: (clientId, audience) =>
      signJwt(assertionHeader, {
        iss: clientId,
        sub: clientId,
        aud: audience,
        exp: now() + ASSERTION_SECONDS,
      }),
  }
}
