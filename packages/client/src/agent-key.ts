/** The signature algorithm of a token request: JWS names (RFC 7518, RFC 8037) for the two kinds of keys that the service takes. */
type Algorithm = 'ES256' | 'EdDSA'

/** A `CryptoKey`, as the globals of the platform declare it. */
type SigningKey = Parameters<typeof crypto.subtle.sign>[1]

/** A `CryptoKeyPair`. */
export interface AgentKeys {
  readonly privateKey: SigningKey
  readonly publicKey: SigningKey
}

interface PublicJwk {
  readonly kty?: string
  readonly crv?: string
  readonly x?: string
  readonly y?: string
}

/** The request that a proof is for. */
interface ProofOptions {
  readonly method: string
  readonly url: URL
  /** The access token that the request presents. */
  readonly token?: string | undefined
  /** What the service last sent as `DPoP-Nonce`. */
  readonly nonce?: string | undefined
}

/** Assertions are sent at once, so a minute is enough also with a slow connection. */
const ASSERTION_SECONDS = 60

/**
 * The key of an agent: it authenticates the agent (`private_key_jwt`, RFC 7523) and binds its tokens to the key (DPoP, RFC 9449). The
 * private key never leaves the `CryptoKey`, which may be non-extractable.
 */
export class AgentKey {
  readonly #pair: AgentKeys
  readonly #algorithm: Algorithm
  #publicJwk: Promise<PublicJwk> | undefined

  /** @throws {TypeError} when the pair is neither ECDSA with P-256 nor Ed25519, or cannot sign */
  constructor(pair: AgentKeys) {
    this.#pair = pair
    this.#algorithm = algorithmOf(pair)
  }

  /** The public key, as the member of a JWK Set. */
  async publicJwk(): Promise<PublicJwk> {
    this.#publicJwk ??= crypto.subtle.exportKey('jwk', this.#pair.publicKey)
    const { kty, crv, x, y } = await this.#publicJwk
    return { kty, crv, x, ...(y !== undefined && { y }) } as PublicJwk
  }

  /** Signs a client assertion, which is good once and for a minute. @param audience the origin of the service */
  async assertion(clientId: string, audience: string): Promise<string> {
    const iat = now()
    const claims = { iss: clientId, sub: clientId, aud: audience, iat, exp: iat + ASSERTION_SECONDS }
    return this.#sign({ typ: 'JWT' }, { ...claims, jti: crypto.randomUUID() })
  }

  /** Signs a DPoP proof for one request. */
  async proof({ method, url, token, nonce }: ProofOptions): Promise<string> {
    const header = { typ: 'dpop+jwt', jwk: await this.publicJwk() }
    return this.#sign(header, {
      jti: crypto.randomUUID(),
      htm: method,
      htu: `${url.origin}${url.pathname}`,
      iat: now(),
      ...(token !== undefined && { ath: base64url(await sha256(token)) }),
      ...(nonce !== undefined && { nonce }),
    })
  }

  async #sign(header: object, claims: object): Promise<string> {
    const input = `${encode({ ...header, alg: this.#algorithm })}.${encode(claims)}`
    const { name } = this.#pair.privateKey.algorithm
    const parameters = name === 'ECDSA' ? { name, hash: 'SHA-256' } : { name }
    const signature = await crypto.subtle.sign(parameters, this.#pair.privateKey, utf8(input))
    return `${input}.${base64url(signature)}`
  }
}

function algorithmOf({ privateKey }: AgentKeys): Algorithm {
  const { name, namedCurve } = privateKey.algorithm as { name: string; namedCurve?: string }
  if (privateKey.type === 'private' && privateKey.usages.includes('sign')) {
    if (name === 'ECDSA' && namedCurve === 'P-256') return 'ES256'
    if (name === 'Ed25519') return 'EdDSA'
  }
  throw new TypeError('The keys must be a signing key pair: ECDSA with P-256, or Ed25519.')
}

// oxlint-disable-next-line no-restricted-properties -- a client without a clock of its own reads the machine's
const now = () => Math.floor(Date.now() / 1000)
const utf8 = (text: string) => new TextEncoder().encode(text)
const sha256 = async (text: string) => crypto.subtle.digest('SHA-256', utf8(text))
const encode = (value: object) => base64url(utf8(JSON.stringify(value)))
const base64url = (bytes: ArrayBuffer | Uint8Array) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
