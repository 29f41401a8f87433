import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { serve } from '@plainpath/http'
import { serviceUrls } from '@plainpath/metadata'
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose'

export const CLIENT_ID = 'resource-api'
export const CLIENT_SECRET = 'prs_a secret: with/characters+that&need%encoding'.replaceAll(' ', '_')
const ANSWER_TYPE = 'application/token-introspection+jwt'
export const AGENT = 'agt_AAAAAAAAAAAAAAAAAAAAAA'

/** What an answer is made of, before it is signed. Each part can be changed, to lie with it. */
export interface Answer {
  status: number
  type: string
  header: JWTHeaderParameters
  payload: JWTPayload & { token_introspection?: unknown; token_hash?: unknown }
  /** Signs in place of the published key. */
  key?: Awaited<ReturnType<typeof newKey>>['secret']
  /** Sent in place of the signed answer. */
  body?: string | Buffer
  /** Beside the media type. */
  headers?: Record<string, string>
  delayMs?: number
}

type Claims = Record<string, unknown>

/** The internal listener of an authorization server: signs real RFC 9701 answers about the tokens it issued. */
export interface FakeAuthorizationServer extends AsyncDisposable {
  readonly url: string
  /** How often introspection and the key set were asked for. */
  readonly asked: { introspection: number; keys: number }
  /** The parameter `claims` of each introspection, empty where there was none. */
  readonly askedClaims: string[]
  /** The headers of the last introspection request. */
  readonly lastHeaders: NodeJS.Dict<string | string[]>
  issue(claims?: Claims): string
  /** Issues a token that is bound to a key. @param jkt the thumbprint of the key */
  issueBound(jkt: string, claims?: Claims): string
  revoke(token: string): void
  /** Changes every answer from now on; without an argument answers are honest again. */
  lie(change?: (answer: Answer) => void): void
  /** New keys: published, or only signed with. */
  changeKeys(options: { publish: boolean }): Promise<void>
  keySetStatus: number
  /** For how long the key set may be believed; it does not say when undefined. */
  trustSeconds: number | undefined
  /** The only one that it accepts. */
  clientSecret: string
  /** What it signs with, and that key as it is published. */
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
  let change: (answer: Answer) => void = () => {}

  async function introspect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    fake.asked.introspection += 1
    fake.lastHeaders = request.headers
    const form = new URLSearchParams(await text(request))
    const token = form.get('token') ?? ''
    fake.askedClaims.push(form.get('claims') ?? '')
    if (request.headers.authorization !== basic(fake.clientSecret)) return void response.writeHead(401).end()
    if (request.headers.accept !== ANSWER_TYPE) return void response.writeHead(406).end()
    const iat = Math.floor(now().getTime() / 1000)
    const answer: Answer = {
      status: 200,
      type: ANSWER_TYPE,
      header: { alg: 'ES256', typ: 'token-introspection+jwt', kid: key.kid },
      payload: {
        iss: origin,
        aud: CLIENT_ID,
        iat,
        token_hash: createHash('sha256').update(token).digest('base64url'),
        token_introspection: answerFor(tokens.get(token), form.get('claims')),
      },
    }
    change(answer)
    const body =
      answer.body ??
      (await new SignJWT(answer.payload).setProtectedHeader(answer.header).sign(answer.key ?? key.secret))
    setTimeout(() => {
      response.writeHead(answer.status, { 'content-type': answer.type, ...answer.headers }).end(body)
    }, answer.delayMs ?? 0)
  }

  const server = await serve(
    (request, response) => {
      if (request.url === '/oauth/introspect') return void introspect(request, response)
      if (request.url !== '/oauth/jwks.json') return void response.writeHead(404).end()
      fake.asked.keys += 1
      response.writeHead(fake.keySetStatus, { 'content-type': 'application/jwk-set+json' })
      response.end(JSON.stringify({ keys: published, trust_seconds: fake.trustSeconds }))
    },
    { port: 0, host: '127.0.0.1', drainSeconds: 0 },
  )
  const fake = {
    url: server.url,
    asked: { introspection: 0, keys: 0 },
    askedClaims: [] as string[],
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
    lie(how: (answer: Answer) => void = () => {}) {
      change = how
    },
    async changeKeys({ publish }: { publish: boolean }) {
      key = await newKey()
      if (publish) published = [key.jwk]
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
  return fake
}

/** The address only when it is asked for. */
function answerFor(claims: Claims | undefined, asked: string | null): Claims {
  if (!claims) return { active: false }
  const { email, ...rest } = claims
  return asked === 'email' ? { ...rest, email } : rest
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
