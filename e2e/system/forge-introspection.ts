import { createHash, createPrivateKey, type JsonWebKey, sign } from 'node:crypto'

export interface LeakedKey extends JsonWebKey {
  readonly kid: string
  readonly alg: 'ES256' | 'EdDSA'
}

/**
 * Forges an introspection response (RFC 9701 §5), as the holder of a leaked signing key could. It says that `token` belongs to an
 * anonymous client, has the scope `guides:read` and expires in 10 minutes. No client has the `client_id`.
 *
 * `token_hash` and `revocation_mark` are extensions of this project. An API may cache the response if `revocationMark` is the
 * mark of its own subscription to revocations.
 *
 * @param options.issuer the origin of auth
 * @param options.audience the API's client id at auth
 */
export function forgeIntrospection(
  key: LeakedKey,
  {
    token,
    issuer,
    audience,
    revocationMark,
  }: { token: string; issuer: string; audience: string; revocationMark: string },
): string {
  const now = Math.floor(Date.now() / 1000)
  const header = { alg: key.alg, kid: key.kid, typ: 'token-introspection+jwt' }
  const payload = {
    iss: issuer,
    aud: audience,
    iat: now,
    token_hash: createHash('sha256').update(token).digest('base64url'),
    revocation_mark: revocationMark,
    token_introspection: {
      active: true,
      client_id: `agt_${'A'.repeat(22)}`,
      scope: 'guides:read',
      aud: `${issuer}/api`,
      exp: now + 600,
      iat: now,
      token_type: 'Bearer',
      identity_type: 'anonymous',
    },
  }
  const signingInput = [header, payload]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const privateKey = createPrivateKey({ key, format: 'jwk' })
  const signature = sign(key.alg === 'ES256' ? 'sha256' : null, Buffer.from(signingInput), {
    key: privateKey,
    // A JWS has the values R and S side by side, not in DER (RFC 7518 §3.4).
    dsaEncoding: 'ieee-p1363',
  })
  return `${signingInput}.${signature.toString('base64url')}`
}

/** Reads the `kid` from the header of a JWT. */
export function parseKid(jwt: string): string {
  const header = Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString('utf8')
  return (JSON.parse(header) as { kid: string }).kid
}
