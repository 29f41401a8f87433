import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { serve } from '@plainpath/http'
import { createServiceUrls } from '@plainpath/metadata'
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose'

/** The client_id with which the API introspects. */
export const CLIENT_ID = 'resource-api'
/** The secret of `CLIENT_ID`. It has characters that must be encoded in Basic credentials (RFC 6749 §2.3.1). */
export const CLIENT_SECRET = 'prs_a_secret:_with/characters+that&need%encoding'
const INTROSPECTION_TYPE = 'application/token-introspection+jwt'
/** The client_id of the agent to which the server issues tokens. */
export const AGENT_ID = 'agt_AAAAAAAAAAAAAAAAAAAAAA'

/** The parts from which the server builds an introspection response. A test can change each of them. */
export interface IntrospectionReply {
  status: number
  /** The media type of the response. */
  type: string
  /** The header of the JWT. */
  header: JWTHeaderParameters
  payload: JWTPayload & { token_introspection?: unknown; token_hash?: unknown }
  /** The key that signs the response; by default the server's. */
  key?: CryptoKey
  /** A body that is sent instead of the signed JWT. */
  body?: string | Buffer
  /** HTTP headers in addition to the media type. */
  headers?: Record<string, string>
  /** How many milliseconds the server waits before it responds. */
  delayMs?: number
}

type Claims = Record<string, unknown>

/** Imitates the internal listener of the authorization server, with signed introspection responses (RFC 9701). */
export interface FakeAuthorizationServer extends AsyncDisposable {
  readonly url: string
  /** The numbers of introspection requests and of key-set requests so far. */
  readonly requests: { introspection: number; keys: number }
  /** The parameter `claims` of each introspection request; an empty string if there was none. */
  readonly requestedClaims: string[]
  /** The headers of the last introspection request. */
  readonly lastHeaders: NodeJS.Dict<string | string[]>
  /** Issues an active bearer token. `claims` replace or extend the claims of its introspection. */
  issue(claims?: Claims): string
  /** Issues a token that is bound to a key. @param jkt the thumbprint of the key */
  issueBound(jkt: string, claims?: Claims): string
  /** Makes later introspections report the token as inactive. Publishes no notification. */
  revoke(token: string): void
  /** Changes the parts of every later introspection response, except those with status 401 or 406. */
  tamper(change: (reply: IntrospectionReply) => void): void
  /** Ends the effect of `tamper`. */
  stopTampering(): void
  /**
   * Signs later responses with a new key. If `publish` is true, the key set contains only that key from now on. Otherwise it
   * stays the same.
   */
  changeKeys(options: { publish: boolean }): Promise<void>
  /** The status of the response with the key set. */
  keySetStatus: number
  /** The member `trust_seconds` of the key set: for how many seconds it may be used. If undefined, the member is absent. */
  trustSeconds: number | undefined
  /** The only client secret that the server accepts. */
  clientSecret: string
  /** Returns the private key with which the server signs. */
  getSigningKey(): CryptoKey
  /** Returns the public part of the signing key. */
  getPublicKey(): JWK & { readonly kid: string }
}

/**
 * Starts the fake.
 *
 * @param origin the issuer of its responses. Tokens are issued for the API at `origin`
 * @param now the clock for `iat` and `exp`
 */
export async function startFakeAuthorizationServer(
  origin: string,
  now: () => Date = () => new Date(),
): Promise<FakeAuthorizationServer> {
  const { base: audience } = createServiceUrls(origin)
  const tokens = new Map<string, Claims>()
  let key = await generateSigningKey()
  let publishedKeys = [key.jwk]
  let changeReply: (reply: IntrospectionReply) => void = () => {}

  async function introspect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    fake.requests.introspection += 1
    fake.lastHeaders = request.headers
    const form = new URLSearchParams(await text(request))
    const token = form.get('token') ?? ''
    fake.requestedClaims.push(form.get('claims') ?? '')
    if (request.headers.authorization !== formatBasicCredentials(fake.clientSecret))
      return void response.writeHead(401).end()
    if (request.headers.accept !== INTROSPECTION_TYPE) return void response.writeHead(406).end()
    const iat = Math.floor(now().getTime() / 1000)
    const reply: IntrospectionReply = {
      status: 200,
      type: INTROSPECTION_TYPE,
      header: { alg: 'ES256', typ: 'token-introspection+jwt', kid: key.kid },
      payload: {
        iss: origin,
        aud: CLIENT_ID,
        iat,
        token_hash: createHash('sha256').update(token).digest('base64url'),
        token_introspection: createIntrospection(tokens.get(token), form.get('claims')),
      },
    }
    changeReply(reply)
    const body =
      reply.body ??
      (await new SignJWT(reply.payload).setProtectedHeader(reply.header).sign(reply.key ?? key.privateKey))
    setTimeout(() => {
      response.writeHead(reply.status, { 'content-type': reply.type, ...reply.headers }).end(body)
    }, reply.delayMs ?? 0)
  }

  const server = await serve(
    (request, response) => {
      if (request.url === '/oauth/introspect') return void introspect(request, response)
      if (request.url !== '/oauth/jwks.json') return void response.writeHead(404).end()
      fake.requests.keys += 1
      response.writeHead(fake.keySetStatus, { 'content-type': 'application/jwk-set+json' })
      response.end(JSON.stringify({ keys: publishedKeys, trust_seconds: fake.trustSeconds }))
    },
    { port: 0, host: '127.0.0.1', drainSeconds: 0 },
  )
  const fake = {
    url: server.url,
    requests: { introspection: 0, keys: 0 },
    requestedClaims: [] as string[],
    lastHeaders: {} as NodeJS.Dict<string | string[]>,
    keySetStatus: 200,
    trustSeconds: undefined as number | undefined,
    clientSecret: CLIENT_SECRET,
    getSigningKey: () => key.privateKey,
    getPublicKey: () => key.jwk,
    issue(claims: Claims = {}) {
      const token = `ppt_${randomBytes(32).toString('base64url')}`
      const iat = Math.floor(now().getTime() / 1000)
      tokens.set(token, {
        active: true,
        client_id: AGENT_ID,
        scope: 'guides:read waitlist:write',
        aud: audience,
        exp: iat + 3600,
        iat,
        iss: origin,
        token_type: 'Bearer',
        identity_type: 'anonymous',
        ...claims,
      })
      return token
    },
    issueBound: (jkt: string, claims?: Claims) => fake.issue({ token_type: 'DPoP', cnf: { jkt }, ...claims }),
    revoke: (token: string) => void tokens.delete(token),
    tamper(change: (reply: IntrospectionReply) => void) {
      changeReply = change
    },
    stopTampering() {
      changeReply = () => {}
    },
    async changeKeys({ publish }: { publish: boolean }) {
      key = await generateSigningKey()
      if (publish) publishedKeys = [key.jwk]
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
  return fake
}

/** Creates the introspection of a token. It contains the e-mail address only if the parameter `claims` is `email`. */
function createIntrospection(claims: Claims | undefined, requestedClaims: string | null): Claims {
  if (!claims) return { active: false }
  const { email, ...otherClaims } = claims
  return requestedClaims === 'email' ? { ...otherClaims, email } : otherClaims
}

async function generateSigningKey() {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const kid = randomBytes(8).toString('hex')
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } }
}

const formatBasicCredentials = (secret: string) =>
  `Basic ${Buffer.from(`${CLIENT_ID}:${encodeURIComponent(secret)}`).toString('base64')}`

/** Returns a URL at which nothing listens: a server on its port was just closed. Another process could take the port. */
export async function findUnusedUrl(): Promise<string> {
  await using server = await serve(() => {}, { port: 0, host: '127.0.0.1', drainSeconds: 0 })
  return server.url
}
