import { createPrivateKey, type JsonWebKey, sign } from 'node:crypto'
import { importJWK, type JWK, jwtVerify } from 'jose'
import type { PrivateJwk, PublicJwk } from './signing-key.ts'

/** Signs claims as a compact JWS (RFC 7515 §3.1). */
type SignJws = (claims: object) => string

/**
 * Creates a signer that parses the key once and signs synchronously, since handing the work to the thread pool takes longer
 * than the signature itself.
 *
 * @param typ the media type of the content, without `application/`
 */
export function createJwsSigner(jwk: PrivateJwk, typ: string): SignJws {
  const { alg, kid } = jwk
  const key = createPrivateKey({ key: jwk as JsonWebKey, format: 'jwk' })
  const header = encodePart({ alg, typ, kid })
  const signBytes =
    alg === 'ES256'
      ? (data: Buffer) => toRawSignature(sign('sha256', data, key))
      : (data: Buffer) => sign(null, data, key)
  return (claims) => {
    const input = `${header}.${encodePart(claims)}`
    return `${input}.${signBytes(Buffer.from(input)).toString('base64url')}`
  }
}

const encodePart = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

const P256_BYTES = 32

/**
 * Converts an ECDSA signature from the DER of OpenSSL (RFC 3279 §2.2.3) to R and S of 32 bytes each (RFC 7518 §3.4).
 * Node's `ieee-p1363` does the same, but takes as long as a second signature.
 */
function toRawSignature(der: Buffer): Buffer {
  const raw = Buffer.alloc(2 * P256_BYTES)
  // The DER is a SEQUENCE of two INTEGERs. Tag and length take a byte each. An INTEGER may have fewer than 32 bytes, or a
  // leading zero.
  let offset = 2
  for (const end of [P256_BYTES, 2 * P256_BYTES]) {
    const length = der[offset + 1] ?? 0
    const bytes = der.subarray(offset + 2, offset + 2 + length)
    const significantBytes = bytes.subarray(Math.max(0, length - P256_BYTES))
    significantBytes.copy(raw, end - significantBytes.length)
    offset += 2 + length
  }
  return raw
}

const PROOF_TYPE = 'plainpath-key-proof+jwt'

/** Signs a proof that an instance uses a key. The proof has no audience, and its type is accepted for nothing else. */
export const signProof = (
  key: PrivateJwk,
  { instanceId, ringVersion }: { instanceId: string; ringVersion: number },
): string => createJwsSigner(key, PROOF_TYPE)({ ring_version: ringVersion, sub: instanceId })

/** Returns true if the given instance signed the proof with this key, at this version of the ring. */
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
    // Any failure means that the proof is invalid.
    return false
  }
}
