/** The JWS algorithm names (RFC 7518, RFC 8037) of the two key types that the service accepts. */
type Algorithm = 'ES256' | 'EdDSA'

/** A `CryptoKey`, in the type of the platform that compiles this code: Node, Deno, Bun or a browser. */
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

/** The request that a DPoP proof covers. */
interface ProofOptions {
  readonly method: string
  readonly url: URL
  /** The access token that the request presents. */
  readonly token?: string | undefined
  /** The last `DPoP-Nonce` that the service sent. */
  readonly nonce?: string | undefined
}

/** The lifetime of a client assertion. The assertion is sent immediately, so a minute is enough even on a slow connection. */
const ASSERTION_LIFETIME_SECONDS = 60

/**
 * An agent's key pair. It authenticates the agent (`private_key_jwt`, RFC 7523), and tokens are bound to it (DPoP, RFC 9449). The
 * private key never leaves its `CryptoKey`, which may be non-extractable.
 */
export class AgentKey {
  readonly #keyPair: AgentKeys
  readonly #algorithm: Algorithm
  #publicJwk: Promise<PublicJwk> | undefined

  /** @throws {TypeError} if the pair is neither ECDSA with P-256 nor Ed25519, cannot sign, or has no public key to export */
  constructor(keyPair: AgentKeys) {
    this.#keyPair = keyPair
    this.#algorithm = detectAlgorithm(keyPair)
  }

  /** Exports the public key as a JWK. */
  async exportPublicJwk(): Promise<PublicJwk> {
    this.#publicJwk ??= crypto.subtle.exportKey('jwk', this.#keyPair.publicKey)
    const { kty, crv, x, y } = await this.#publicJwk
    return { kty, crv, x, ...(y !== undefined && { y }) } as PublicJwk
  }

  /**
   * Signs a client assertion. The service accepts it once, within a minute.
   *
   * @param audience the origin of the service
   */
  async signAssertion(clientId: string, audience: string): Promise<string> {
    const iat = getNowSeconds()
    const claims = { iss: clientId, sub: clientId, aud: audience, iat, exp: iat + ASSERTION_LIFETIME_SECONDS }
    return this.#sign({ typ: 'JWT' }, { ...claims, jti: crypto.randomUUID() })
  }

  /** Signs a DPoP proof for one request. */
  async signProof({ method, url, token, nonce }: ProofOptions): Promise<string> {
    const header = { typ: 'dpop+jwt', jwk: await this.exportPublicJwk() }
    return this.#sign(header, {
      jti: crypto.randomUUID(),
      htm: method,
      htu: `${url.origin}${url.pathname}`,
      iat: getNowSeconds(),
      ...(token !== undefined && { ath: encodeBase64url(await hashSha256(token)) }),
      ...(nonce !== undefined && { nonce }),
    })
  }

  async #sign(header: object, claims: object): Promise<string> {
    const signingInput = `${encodeJson({ ...header, alg: this.#algorithm })}.${encodeJson(claims)}`
    const { name } = this.#keyPair.privateKey.algorithm
    const parameters = name === 'ECDSA' ? { name, hash: 'SHA-256' } : { name }
    const signature = await crypto.subtle.sign(parameters, this.#keyPair.privateKey, encodeUtf8(signingInput))
    return `${signingInput}.${encodeBase64url(signature)}`
  }
}

function detectAlgorithm({ privateKey, publicKey }: AgentKeys): Algorithm {
  const algorithm = findAlgorithm(privateKey)
  if (privateKey.type !== 'private' || !privateKey.usages.includes('sign') || !algorithm)
    throw new TypeError('The keys must be a signing key pair: ECDSA with P-256, or Ed25519.')
  // The registration and each proof contain the public key.
  if (publicKey.type !== 'public' || !publicKey.extractable || findAlgorithm(publicKey) !== algorithm)
    throw new TypeError('The public key must be extractable, and of the kind of the private key.')
  return algorithm
}

function findAlgorithm(key: SigningKey): Algorithm | undefined {
  const { name, namedCurve } = key.algorithm as { name: string; namedCurve?: string }
  if (name === 'ECDSA' && namedCurve === 'P-256') return 'ES256'
  return name === 'Ed25519' ? 'EdDSA' : undefined
}

// oxlint-disable-next-line no-restricted-properties -- nothing passes a clock to the client, so it reads the machine's clock
const getNowSeconds = () => Math.floor(Date.now() / 1000)
const encodeUtf8 = (text: string) => new TextEncoder().encode(text)
const hashSha256 = async (text: string) => crypto.subtle.digest('SHA-256', encodeUtf8(text))
const encodeJson = (value: object) => encodeBase64url(encodeUtf8(JSON.stringify(value)))
const encodeBase64url = (bytes: ArrayBuffer | Uint8Array) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
