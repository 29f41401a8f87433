import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { serve } from '@plainpath/http'
import { serviceUrls } from '@plainpath/metadata'
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'

export const CLIENT_ID = 'resource-api'
export const CLIENT_SECRET = 'prs_a secret: with/characters+that&need%encoding'.replaceAll(' ', '_')
const INTROSPECTION_TYPE = 'application/token-introspection+jwt'
export const AGENT = 'agt_AAAAAAAAAAAAAAAAAAAAAA'

/** The parts of an introspection response before it is signed. A test can change each of them. */
export interface IntrospectionReply {
  status: number
  type: string
  header: JWTHeaderParameters
  payload: JWTPayload & { token_introspection?: unknown; token_hash?: unknown }
  /** Signs in place of the published key. */
  key?: Awaited<ReturnType<typeof newKey>>['secret']
  /** Sent in place of the signed response. */
  body?: string | Buffer
  /** Beside the media type. */
  headers?: Record<string, string>
  delayMs?: number
}

type Claims = Record<string, unknown>

/** The internal listener of an authorization server: signs introspection responses (RFC 9701) about the tokens it issued. */
export interface FakeAuthorizationServer extends AsyncDisposable {
  readonly url: string
  /** The numbers of requests for introspections and for the key set. */
  readonly requests: { introspection: number; keys: number }
  /** The parameter `claims` of each introspection, empty where there was none. */
  readonly requestedClaims: string[]
  /** The headers of the last introspection request. */
  readonly lastHeaders: NodeJS.Dict<string | string[]>
  issue(claims?: Claims): string
  /** Issues a token that is bound to a key. @param jkt the thumbprint of the key */
  issueBound(jkt: string, claims?: Claims): string
  revoke(token: string): void
  /** Changes every later introspection response. Without an argument, responses are valid again. */
  tamper(change?: (reply: IntrospectionReply) => void): void
  /** Signs with a new key, and publishes it if `publish`. */
  changeKeys(options: { publish: boolean }): Promise<void>
  keySetStatus: number
  /** The seconds for which the key set may be used; the member is absent when undefined. */
  trustSeconds: number | undefined
  /** The only secret that it accepts. */
  clientSecret: string
  /** The private key that it signs with, and the public part as published. */
  signingKey(): Awaited<ReturnType<typeof newKey>>['secret']
  publishedKey(): Awaited<ReturnType<typeof newKey>>['jwk']
}

/** @param origin the issuer it signs for */
export async function startFakeAuthorizationServer(
  origin: string,
  now: () => Date = () => new Date(),
): Promise<FakeAuthorizationServer> {
  const { base } = serviceUrls(origin)
  const tokens = new Map<string, Claims>()
  let key = await newKey()
  let published = [key.jwk]
  let change: (reply: IntrospectionReply) => void = () => {}

  async function introspect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    fake.requests.introspection += 1
    fake.lastHeaders = request.headers
    const form = new URLSearchParams(await text(request))
    const token = form.get('token') ?? ''
    fake.requestedClaims.push(form.get('claims') ?? '')
    if (request.headers.authorization !== basic(fake.clientSecret)) return void response.writeHead(401).end()
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
        token_introspection: introspectionFor(tokens.get(token), form.get('claims')),
      },
    }
    change(reply)
    const body =
      reply.body ??
      (await new SignJWT(reply.payload).setProtectedHeader(reply.header).sign(reply.key ?? key.secret))
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
      response.end(JSON.stringify({ keys: published, trust_seconds: fake.trustSeconds }))
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
    signingKey: () => key.secret,
    publishedKey: () => key.jwk,
    issue(claims: Claims = {}) {
      const token = `ppt_${randomBytes(32).toString('base64url')}`
      const iat = Math.floor(now().getTime() / 1000)
      tokens.set(token, {
        active: true,
        client_id: AGENT,
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
    tamper(newChange: (reply: IntrospectionReply) => void = () => {}) {
      change = newChange
    },
    async changeKeys({ publish }: { publish: boolean }) {
      key = await newKey()
      if (publish) published = [key.jwk]
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
  return fake
}

/** The address only when the request names the claim. */
function introspectionFor(claims: Claims | undefined, requested: string | null): Claims {
  if (!claims) return { active: false }
  const { email, ...rest } = claims
  return requested === 'email' ? { ...rest, email } : rest
}

async function newKey() {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const kid = randomBytes(8).toString('hex')
  return { kid, secret: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } }
}

const basic = (secret: string) =>
  `Basic ${Buffer.from(`${CLIENT_ID}:${encodeURIComponent(secret)}`).toString('base64')}`

/** An address at which nothing listens. */
export async function deadUrl(): Promise<string> {
  await using server = await serve(() => {}, { port: 0, host: '127.0.0.1', drainSeconds: 0 })
  return server.url
}
