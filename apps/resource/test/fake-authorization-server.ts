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

export const CLIENT_ID = 'resource-api'
/** Has characters that must be encoded in Basic credentials (RFC 6749 §2.3.1). */
export const CLIENT_SECRET = 'prs_a_secret:_with/characters+that&need%encoding'
const INTROSPECTION_TYPE = 'application/token-introspection+jwt'
export const AGENT_ID = 'agt_AAAAAAAAAAAAAAAAAAAAAA'

/** The parts of an introspection response before it is signed. A test can change each of them. */
export interface IntrospectionReply {
  status: number
  type: string
  header: JWTHeaderParameters
  payload: JWTPayload & { token_introspection?: unknown; token_hash?: unknown }
  /** Signs the response instead of the server's key. */
  key?: CryptoKey
  /** Sent instead of the signed response. */
  body?: string | Buffer
  /** Sent together with the media type. */
  headers?: Record<string, string>
  /** How many milliseconds the server waits before it responds. */
  delayMs?: number
}

type Claims = Record<string, unknown>

/** Imitates the internal listener of the authorization server, with signed introspection responses (RFC 9701). */
export interface FakeAuthorizationServer extends AsyncDisposable {
  readonly url: string
  /** How many introspection requests arrived, and how many requests for the key set. */
  readonly requests: { introspection: number; keys: number }
  /** The parameter `claims` of each introspection request; an empty string if there was none. */
  readonly requestedClaims: string[]
  /** The headers of the last introspection request. */
  readonly lastHeaders: NodeJS.Dict<string | string[]>
  /** Issues an active bearer token. `claims` replace or extend the claims of its introspection. */
  issue(claims?: Claims): string
  /** Issues a token that is bound to a key. @param jkt the thumbprint of the key */
  issueBound(jkt: string, claims?: Claims): string
  revoke(token: string): void
  /** Changes every later introspection response before it is signed. */
  tamper(change: (reply: IntrospectionReply) => void): void
  /** Makes later introspection responses valid again. */
  stopTampering(): void
  /** Signs later responses with a new key. If `publish` is true, the key set contains only that key from now on. */
  changeKeys(options: { publish: boolean }): Promise<void>
  /** The status of the response with the key set. */
  keySetStatus: number
  /** For how many seconds the key set may be used: its member `trust_seconds`. If undefined, that member is absent. */
  trustSeconds: number | undefined
  /** The only client secret that the server accepts. */
  clientSecret: string
  /** Returns the private key with which the server signs. */
  getSigningKey(): CryptoKey
  /** Returns the public part of the signing key. */
  getPublicKey(): JWK & { readonly kid: string }
}

/** Starts the fake. @param origin the issuer of its responses */
export async function startFakeAuthorizationServer(
  origin: string,
  now: () => Date = () => new Date(),
): Promise<FakeAuthorizationServer> {
  const { base } = createServiceUrls(origin)
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
        aud: base,
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

/** Creates the introspection of a token. It contains the e-mail address only if the request names that claim. */
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

/** Finds a URL at which nothing listens: its port was free a moment ago. */
export async function findUnusedUrl(): Promise<string> {
  await using server = await serve(() => {}, { port: 0, host: '127.0.0.1', drainSeconds: 0 })
  return server.url
}
