import { generateKeyPairSync } from 'node:crypto'
import { AgentKey } from '@plainpath/domain'

/** Creates a public key. Its private key is discarded. */
export const createExampleKey = (kid: string): AgentKey =>
  AgentKey.parse({
    ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
    kid,
    alg: 'ES256',
    use: 'sig',
  })
