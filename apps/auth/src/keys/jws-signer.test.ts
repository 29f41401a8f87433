import { importJWK, type JWK, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { createJwsSigner } from './jws-signer.ts'
import { generateKeyPair, SigningAlgorithm } from './signing-key.ts'

/**
 * The number of signatures to verify. An ES256 signature consists of two numbers. One number in 256 is a byte shorter than the
 * others, so 2,000 signatures contain several short ones. All EdDSA signatures have the same length.
 */
const SIGNATURE_COUNTS = { ES256: 2_000, EdDSA: 200 }
/** How many verifications run concurrently, since each waits for a thread. */
const CONCURRENCY = 50

test.for(SigningAlgorithm.options)('jose verifies what a signer signs with %s', async (algorithm) => {
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
  for (let serial = 0; serial < SIGNATURE_COUNTS[algorithm]; serial += CONCURRENCY)
    await Promise.all(Array.from({ length: CONCURRENCY }, (_, index) => verifyNext(serial + index)))
})
