import { createPrivateKey, type JsonWebKey, sign } from 'node:crypto'
import { importJWK, type JWK, jwtVerify } from 'jose'
import type { PrivateJwk, PublicJwk } from './signing-key.ts'

/** Signs claims as a compact JWS (RFC 7515 §3.1). */
type SignJws = (claims: object) => string

/**
 * Keeps the key ready, and signs at once: handing one signature to the thread pool takes longer than making it.
 *
 * @param typ the media type of what is signed, without `application/`
 */
export function jwsSigner(jwk: PrivateJwk, typ: string): SignJws {
  const { alg, kid } = jwk
  const key = createPrivateKey({ key: jwk as JsonWebKey, format: 'jwk' })
  const header = encoded({ alg, typ, kid })
  const signatureOf =
    alg === 'ES256'
      ? (data: Buffer) => rawSignature(sign('sha256', data, key))
      : (data: Buffer) => sign(null, data, key)
  return (claims) => {
    const input = `${header}.${encoded(claims)}`
    return `${input}.${signatureOf(Buffer.from(input)).toString('base64url')}`
  }
}

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

const P256_BYTES = 32

/**
 * R and S of an ECDSA signature, 32 bytes each (RFC 7518 §3.4), from the DER that OpenSSL makes (RFC 3279 §2.2.3). Node's
 * `ieee-p1363` says the same, and takes as long as a second signature.
 */
function rawSignature(der: Buffer): Buffer {
  const raw = Buffer.alloc(2 * P256_BYTES)
  // SEQUENCE and its length, then each time INTEGER, its length, and its bytes: fewer than 32, or a zero before them.
  let at = 2
  for (const end of [P256_BYTES, 2 * P256_BYTES]) {
    const length = der[at + 1] ?? 0
    const bytes = der.subarray(at + 2, at + 2 + length)
    const significant = bytes.subarray(Math.max(0, length - P256_BYTES))
    significant.copy(raw, end - significant.length)
    at += 2 + length
  }
  return raw
}

const PROOF_TYPE = 'plainpath-key-proof+jwt'

/** What an instance signs to show with which key it signs; no audience, and of a type that nobody else accepts. */
export const signProof = (
  key: PrivateJwk,
  { instanceId, ringVersion }: { instanceId: string; ringVersion: number },
): string => jwsSigner(key, PROOF_TYPE)({ ring_version: ringVersion, sub: instanceId })

/** @returns whether this instance signed it with this key, at this version of the ring */
export async function verifyProof(
  proof: string,
  key: PublicJwk,
  { instanceId, ringVersion }: { instanceId: string; ringVersion: number },
): Promise<boolean> {
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, await importJWK(key as JWK, key.alg), {
      typ: PROOF_TYPE,
      algorithms: [key.alg],
      subject: instanceId,
    })
    return protectedHeader.kid === key.kid && payload['ring_version'] === ringVersion
  } catch {
    return false
  }
}
