import { DPOP_ALGORITHMS } from './dpop-proof.ts'
import type { TokenScheme } from './read-presented-token.ts'

/** The parameters of a challenge (RFC 6750 §3, RFC 9449 §7.1, RFC 9728 §5.1). */
export interface Challenge {
  /** Absent when no token was sent (RFC 6750 §3.1). */
  readonly error?: 'invalid_request' | 'invalid_token' | 'invalid_dpop_proof' | 'insufficient_scope'
  /** The scopes that the route requires, or that a client can get without a person. */
  readonly scope: readonly string[]
  /** The URL of the resource metadata, which names the authorization server (RFC 9728). */
  readonly resourceMetadata: string
}

/** Formats the value of `WWW-Authenticate` as one challenge whose parameters are all quoted. */
export function formatChallenge(scheme: TokenScheme, { error, scope, resourceMetadata }: Challenge): string {
  const parameters = {
    realm: 'plainpath',
    ...(error && { error }),
    ...(scheme === 'DPoP' && { algs: DPOP_ALGORITHMS.join(' ') }),
    scope: scope.join(' '),
    resource_metadata: resourceMetadata,
  }
  const quotedParameters = Object.entries(parameters).map(
    ([name, value]) => `${name}="${toPrintableAscii(value)}"`,
  )
  return `${scheme} ${quotedParameters.join(', ')}`
}

/** Replaces the characters that RFC 6750 §3 does not allow in these values: `"`, `\` and everything but printable ASCII. */
const toPrintableAscii = (value: string) => value.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7E]/g, '?')
