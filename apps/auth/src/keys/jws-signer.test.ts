import { importJWK, type JWK, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { createJwsSigner } from './jws-signer.ts'
import { generateKeyPair, SigningAlgorithm } from './signing-key.ts'

/**
 * The number of signatures to verify. Signatures of ES256 are two numbers, of which one in 256 is shorter than the rest, and one in
 * 65 536 by two bytes; those of EdDSA all have one length.
 */
const ENOUGH = { ES256: 2_000, EdDSA: 200 }
/** A verification waits for a thread. */
const AT_ONCE = 50

test.for(SigningAlgorithm.options)('a library verifies a signature by %s', async (algorithm) => {
  const { kid, privateJwk, publicJwk } = generateKeyPair(algorithm)
  const sign = createJwsSigner(privateJwk, 'token-introspection+jwt')
  const key = await importJWK(publicJwk as JWK, algorithm)
  const verifyNext = async (serial: number) => {
    const { payload, protectedHeader } = await jwtVerify(sign({ serial, text: 'Grüße' }), key, {
      typ: 'token-introspection+jwt',
      algorithms: [algorithm],
    })
    expect({ payload, protectedHeader }).toEqual({
      payload: { serial, text: 'Grüße' },
      protectedHeader: { alg: algorithm, typ: 'token-introspection+jwt', kid },
    })
  }
  for (let serial = 0; serial < ENOUGH[algorithm]; serial += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => verifyNext(serial + index)))
})
