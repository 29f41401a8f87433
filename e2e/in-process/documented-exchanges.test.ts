import { createHash, randomUUID } from 'node:crypto'
import {
  createCertificateAuthority,
  createJsonHandler,
  type DocumentHost,
  startDocumentHost,
} from '@plainpath/auth/document-host'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type DocumentedExchange,
  listMemberPaths,
  matchStrings,
  parseExchanges,
  parseRequest,
} from '../documented-exchanges.ts'
import { extractFencedBlocks } from '../fenced-blocks.ts'
import { createMailSettings, findLink } from '../verification-steps.ts'
import { type System, startSystem } from './start-system.ts'

const DOMAIN = 'agent.example.org'
const CLIENT_DOCUMENT_PATH = '/plainpath-client.json'

const resources = new AsyncDisposableStack()
let mailServer: MailServer
let system: System
let documentHost: DocumentHost
beforeAll(async () => {
  mailServer = resources.use(await startMailServer())
  const authority = await createCertificateAuthority()
  documentHost = resources.use(await startDocumentHost(await authority.issue([DOMAIN])))
  const settings = { AUTH_CLIENT_DOCUMENT_TEST_HOSTS: `${DOMAIN}:${documentHost.port}` }
  // Messages are held for ten minutes, because the documents show how an agent withdraws a message that is held.
  const env = { ...createMailSettings(mailServer), RESOURCE_CONTACT_HOLD: '10' }
  system = resources.use(
    await startSystem({ env, documents: { settings, documentOverrides: { ca: authority.pem } } }),
  )
})
afterAll(() => resources.disposeAsync())

interface Agent {
  readonly client_id: string
  readonly client_secret: string
}
const encodeCredentials = ({ client_id, client_secret }: Agent) =>
  Buffer.from(`${client_id}:${client_secret}`).toString('base64')

const readDocument = async (path: string) => (await fetch(system.origin + path)).text()

/**
 * Sends the requests that a document shows, in their order. Replaces the shown values with real ones, and signs a JWT where the
 * document has a placeholder.
 *
 * @returns each exchange of the document with the response and its parsed body
 */
async function sendDocumentedRequests(path: string) {
  const email = `ana-${randomUUID()}@example.org`
  /** Maps each value that the document shows to the real value that replaces it. */
  const realByShown = new Map([['ana@example.org', email]])
  const registration = await fetch(`${system.origin}/api/agent/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"client_name": "Example Agent"}',
  })
  realByShown.set('base64(client_id:client_secret)', encodeCredentials((await registration.json()) as Agent))
  realByShown.set(
    `https://${DOMAIN}${CLIENT_DOCUMENT_PATH}`,
    documentHost.getUrl(DOMAIN, CLIENT_DOCUMENT_PATH),
  )
  const jwtReplacer = await createJwtReplacer()
  const replaceShownValues = (text: string) =>
    [...realByShown].reduce((filled, [shown, real]) => filled.replaceAll(shown, real), text)
  const steps: { exchange: DocumentedExchange; response: Response; realBody: unknown }[] = []
  for (const { exchange, json } of parseExchanges(await readDocument(path))) {
    jwtReplacer.collectJwtsAndKey(exchange, json)
    for (const clientDocument of json.filter(isClientDocument))
      documentHost.serve(
        CLIENT_DOCUMENT_PATH,
        createJsonHandler(
          JSON.parse(replaceShownValues(jwtReplacer.replaceShownKeys(JSON.stringify(clientDocument)))),
        ),
      )
    if (exchange.url.endsWith('/claim/complete')) realByShown.set(...(await readCode(exchange, email)))
    const { method, url, headers } = exchange
    const response = await fetch(replaceShownValues(url), {
      method,
      headers: Object.fromEntries(
        await Promise.all(
          Object.entries(headers).map(async ([name, value]) => [
            name,
            await jwtReplacer.replaceJwtPlaceholders(replaceShownValues(value), replaceShownValues),
          ]),
        ),
      ),
      ...(exchange.body !== undefined && {
        body: await jwtReplacer.replaceJwtPlaceholders(replaceShownValues(exchange.body), replaceShownValues),
      }),
    })
    const text = await response.text()
    const realBody: unknown = text === '' ? undefined : JSON.parse(text)
    const { 'DPoP-Nonce': nonce } = exchange.responseHeaders
    if (nonce !== undefined) realByShown.set(nonce, response.headers.get('dpop-nonce') ?? 'missing')
    for (const [shown, value] of matchStrings(exchange.responseBody, realBody))
      if (shown !== value) realByShown.set(shown, value)
    steps.push({ exchange, response, realBody })
  }
  return steps
}

/** Plays the person: opens the mailed link and reads the code. @returns the code in the document, and the real one */
async function readCode({ body = '' }: DocumentedExchange, email: string): Promise<[string, string]> {
  const findMail = () => mailServer.received.find(({ to }) => to.includes(email))
  await expect.poll(findMail).toBeDefined()
  const attempt = new URL(findLink(findMail()?.text ?? '', 'attempt')).searchParams.get('attempt') ?? ''
  const page = await fetch(`${system.origin}/claim`, {
    method: 'POST',
    body: new URLSearchParams({ attempt, answer: 'yes' }),
  })
  const code = /<code id="code">([\d ]+)</.exec(await page.text())?.[1]?.replaceAll(' ', '') ?? ''
  return [(JSON.parse(body) as { otp: string }).otp, code]
}

const isClientDocument = (shown: unknown) => typeof shown === 'object' && !!shown && 'client_id' in shown

interface ShownJwt {
  readonly header: { readonly alg: string; readonly jwk?: object }
  readonly claims: JWTPayload
}

/**
 * Creates a replacer for the keys and JWTs of a document. It has a new key pair, and signs each JWT with the header and the claims that
 * the document shows.
 */
async function createJwtReplacer() {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const jwk = await exportJWK(publicKey)
  const shownKeys = new Map<string, string>()
  const jwts: ShownJwt[] = []
  const replaceShownKeys = (text: string) =>
    [...shownKeys].reduce((filled, [shown, real]) => filled.replaceAll(shown, real), text)
  const sign = async ({ header, claims }: ShownJwt, replaceShownValues: (text: string) => string) => {
    const filled = JSON.parse(replaceShownValues(JSON.stringify(claims))) as JWTPayload
    const iat = Math.floor(Date.now() / 1000)
    const jkts = 'jkts' in claims && { jkts: [await calculateJwkThumbprint(jwk)] }
    const ath = 'ath' in claims && {
      ath: createHash('sha256').update(replaceShownValues(SHOWN_TOKEN)).digest('base64url'),
    }
    return new SignJWT({ ...filled, ...jkts, ...ath, iat, exp: iat + 60, jti: randomUUID() })
      .setProtectedHeader(JSON.parse(replaceShownKeys(JSON.stringify(header))))
      .sign(privateKey)
  }
  return {
    /** Collects the JWTs that an exchange shows, and the public key that the real key replaces. */
    collectJwtsAndKey({ body = '' }: DocumentedExchange, json: readonly unknown[]) {
      jwts.push(
        ...json.filter(
          (shown): shown is ShownJwt => typeof shown === 'object' && !!shown && 'claims' in shown,
        ),
      )
      const [, x, y] = /"x": ?"([\w-]+)", ?"y": ?"([\w-]+)"/.exec(body + JSON.stringify(json)) ?? []
      if (x && y && jwk.x && jwk.y) shownKeys.set(x, jwk.x).set(y, jwk.y)
    },
    replaceShownKeys,
    /**
     * Replaces the shown keys, and each JWT placeholder with a new JWT like the last matching one that was shown.
     *
     * @param replaceShownValues replaces the other values of the document
     */
    async replaceJwtPlaceholders(
      text: string,
      replaceShownValues: (text: string) => string,
    ): Promise<string> {
      let filled = replaceShownKeys(text)
      for (const [placeholder, matchesJwt] of PLACEHOLDERS) {
        const jwt = jwts.findLast(matchesJwt)
        if (filled.includes(placeholder) && jwt)
          filled = filled.replaceAll(placeholder, await sign(jwt, replaceShownValues))
      }
      return filled
    },
  }
}

/** The placeholders for JWTs in the documents, each with a predicate that selects the JWT that belongs there. */
const PLACEHOLDERS: readonly [string, (jwt: ShownJwt) => boolean][] = [
  ['<assertion>', ({ claims }) => 'sub' in claims],
  ['<proof>', ({ claims }) => 'jkts' in claims || 'htu' in claims],
]

/** The token in the examples of the documents. */
const SHOWN_TOKEN = 'ppt_h4Jd8Kf0Lg2Zm6Xn1Cv5Bb9Qw3Er7Ty0Ui4Op8As2Df'

// Each document with the number of its exchanges.
test.for([
  ['/auth/verified-email.md', 8],
  ['/auth/keys.md', 6],
  ['/auth/domain.md', 1],
  ['/auth/dpop.md', 4],
  ['/auth/errors.md', 3],
  ['/auth/lifetimes.md', 1],
] as const)(
  'each request in %s gets the documented status, content type and body members',
  async ([path, count]) => {
    const steps = await sendDocumentedRequests(path)
    expect(steps).toHaveLength(count)
    for (const { exchange, response, realBody } of steps) {
      const { method, url, status, type, responseBody: shownBody } = exchange
      expect({
        request: `${method} ${url}`,
        status: response.status,
        type: response.headers.get('content-type')?.split(';')[0],
        members: listMemberPaths(realBody),
      }).toEqual({ request: `${method} ${url}`, status, type, members: listMemberPaths(shownBody) })
      if (status >= 400) expect(withoutRequestId(realBody)).toEqual(withoutRequestId(shownBody))
      expect(getStatusMember(realBody)).toEqual(getStatusMember(shownBody))
    }
  },
)

const getStatusMember = (body: unknown) => (body as { status?: unknown } | undefined)?.status

const withoutRequestId = (body: unknown) => ({ ...(body as object), request_id: '' })

test('/auth.md shows the members of the responses to a registration and to a token request', async () => {
  const markdown = await readDocument('/auth.md')
  const blocks = extractFencedBlocks(markdown, 'json').map((json) => JSON.parse(json))
  const registration = await fetch(`${system.origin}/api/agent/register`, { method: 'POST' })
  const agent = (await registration.json()) as Agent
  const token = await fetch(`${system.origin}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${encodeCredentials(agent)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  expect(blocks.map((block) => listMemberPaths(block))).toEqual([
    listMemberPaths(agent),
    listMemberPaths(await token.json()),
  ])
})

test.for([
  ['use-immigration-guidance-api', 5],
  ['hand-off-to-an-attorney', 0],
] as const)('the requests of the skill %s succeed', async ([name, count]) => {
  const markdown = await readDocument(`/.well-known/agent-skills/${name}/SKILL.md`)
  const requests = [...markdown.matchAll(/^( *)```http\n([\s\S]*?)\n *```$/gm)].map(
    ([, indent = '', block = '']) => parseRequest(block.replaceAll(new RegExp(`^${indent}`, 'gm'), '')),
  )
  expect(requests).toHaveLength(count)
  for (const { method, url, headers, body } of requests) {
    const response = await fetch(url.replace('{slug}', 'work-permit'), {
      method,
      headers,
      ...(body !== undefined && { body }),
    })
    expect([method, url, response.ok]).toEqual([method, url, true])
  }
})

test.for(['/llms.txt', '/.well-known/agent-skills/hand-off-to-an-attorney/SKILL.md'])(
  'the request bodies that %s shows for POST /api/answers are accepted',
  async (path) => {
    const markdown = await readDocument(path)
    const bodies = [...markdown.matchAll(/`(\{"question": .*?\})`/g)].map(([, body = '']) => body)
    expect(bodies).toHaveLength(2)
    for (const body of bodies) {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(`${system.origin}/api/answers`, { method: 'POST', headers, body })
      expect([body, response.status]).toEqual([body, 200])
    }
  },
)
