import { importJWK, type JWK, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { jwsSigner } from './jws-signer.ts'
import { generateKeyPair, SigningAlgorithm } from './signing-key.ts'

/** One number in 256 is shorter than the rest, and one in 65 536 by two bytes. */
const ENOUGH = 2_000

test.for(SigningAlgorithm.options)('a library verifies a signature by %s', async (algorithm) => {
  const { kid, privateJwk, publicJwk } = generateKeyPair(algorithm)
  const sign = jwsSigner(privateJwk, 'token-introspection+jwt')
  const key = await importJWK(publicJwk as JWK, algorithm)
  for (let serial = 0; serial < ENOUGH; serial += 1) {
    const { payload, protectedHeader } = await jwtVerify(sign({ serial, text: 'Grüße' }), key, {
      typ: 'token-introspection+jwt',
      algorithms: [algorithm],
    })
    expect({ payload, protectedHeader }).toEqual({
      payload: { serial, text: 'Grüße' },
      protectedHeader: { alg: algorithm, typ: 'token-introspection+jwt', kid },
    })
  }
})
