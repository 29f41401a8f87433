import { importJWK, type JWK, jwtVerify, SignJWT } from 'jose'
import type { PrivateJwk, PublicJwk } from './signing-key.ts'

const TYPE = 'plainpath-key-proof+jwt'

/** What an instance signs to show with which key it signs; no audience, and of a type that nobody else accepts. */
export async function signProof(
  key: PrivateJwk,
  { instanceId, ringVersion }: { instanceId: string; ringVersion: number },
): Promise<string> {
  return new SignJWT({ ring_version: ringVersion })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: TYPE })
    .setSubject(instanceId)
    .sign(await importJWK(key as JWK, key.alg))
}

/** @returns whether this instance signed it with this key, at this version of the ring */
export async function verifyProof(
  proof: string,
  key: PublicJwk,
  { instanceId, ringVersion }: { instanceId: string; ringVersion: number },
): Promise<boolean> {
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, await importJWK(key as JWK, key.alg), {
      typ: TYPE,
      algorithms: [key.alg],
      subject: instanceId,
    })
    return protectedHeader.kid === key.kid && payload['ring_version'] === ringVersion
  } catch {
    return false
  }
}
