import { DPOP_ALGORITHMS } from './dpop-proof.ts'
import type { TokenScheme } from './presented-token.ts'

/** Parameters of a challenge (RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1). */
export interface Challenge {
  /** Left out when no credentials were sent (RFC 6750 §3.1). */
  readonly error?: 'invalid_request' | 'invalid_token' | 'invalid_dpop_proof' | 'insufficient_scope'
  readonly scope: readonly string[]
  readonly resourceMetadata: string
}

/** The value of `WWW-Authenticate`: one challenge, every parameter quoted. */
export function formatChallenge(scheme: TokenScheme, { error, scope, resourceMetadata }: Challenge): string {
  const parameters = {
    realm: 'plainpath',
    ...(error && { error }),
    ...(scheme === 'DPoP' && { algs: DPOP_ALGORITHMS.join(' ') }),
    scope: scope.join(' '),
    resource_metadata: resourceMetadata,
  }
  const written = Object.entries(parameters).map(([name, value]) => `${name}="${printable(value)}"`)
  return `${scheme} ${written.join(', ')}`
}

/** RFC 6750 §3 allows neither `"` nor `\` nor anything but printable ASCII in these values. */
const printable = (value: string) => value.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7E]/g, '?')
