import { generateKeyPairSync } from 'node:crypto'
import { AgentKey } from '@plainpath/domain'

/** A public key whose private half nobody has. */
export const exampleKey = (kid: string): AgentKey =>
  AgentKey.parse({
    ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
    kid,
    alg: 'ES256',
    use: 'sig',
  })
