import { createHash, randomUUID } from 'node:crypto'
import {
  createCertificateAuthority,
  createJsonHandler,
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
const DOCUMENT_PATH = '/plainpath-client.json'

const resources = new AsyncDisposableStack()
let mail: MailServer
let system: System
let documents: Awaited<ReturnType<typeof startDocumentHost>>
beforeAll(async () => {
  mail = resources.use(await startMailServer())
  const authority = await createCertificateAuthority()
  documents = resources.use(await startDocumentHost(await authority.issue([DOMAIN])))
  const settings = { AUTH_CLIENT_DOCUMENT_TEST_HOSTS: `${DOMAIN}:${documents.port}` }
  const env = { ...createMailSettings(mail), RESOURCE_CONTACT_HOLD: '10' }
  system = resources.use(await startSystem({ env, documents: { settings, runtime: { ca: authority.pem } } }))
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
  const realValues = new Map([['ana@example.org', email]])
  const registered = await fetch(`${system.origin}/api/agent/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"client_name": "Example Agent"}',
  })
  realValues.set('base64(client_id:client_secret)', encodeCredentials((await registered.json()) as Agent))
  realValues.set(`https://${DOMAIN}${DOCUMENT_PATH}`, documents.getUrl(DOMAIN, DOCUMENT_PATH))
  const signer = await createSigner()
  const fill = (text: string) =>
    [...realValues].reduce((filled, [shown, real]) => filled.replaceAll(shown, real), text)
  const steps: { exchange: DocumentedExchange; response: Response; realBody: unknown }[] = []
  for (const { exchange, json } of parseExchanges(await readDocument(path))) {
    signer.collectShownValues(exchange, json)
    for (const document of json.filter(isClientDocument))
      documents.serve(
        DOCUMENT_PATH,
        createJsonHandler(JSON.parse(fill(signer.fillKeys(JSON.stringify(document))))),
      )
    if (exchange.url.endsWith('/claim/complete')) realValues.set(...(await readCode(exchange, email)))
    const { method, url, headers } = exchange
    const response = await fetch(fill(url), {
      method,
      headers: Object.fromEntries(
        await Promise.all(
          Object.entries(headers).map(async ([name, value]) => [
            name,
            await signer.fillJwts(fill(value), fill),
          ]),
        ),
      ),
      ...(exchange.body !== undefined && { body: await signer.fillJwts(fill(exchange.body), fill) }),
    })
    const text = await response.text()
    const realBody: unknown = text === '' ? undefined : JSON.parse(text)
    const { 'DPoP-Nonce': nonce } = exchange.responseHeaders
    if (nonce !== undefined) realValues.set(nonce, response.headers.get('dpop-nonce') ?? 'missing')
    for (const [shown, value] of matchStrings(exchange.responseBody, realBody))
      if (shown !== value) realValues.set(shown, value)
    steps.push({ exchange, response, realBody })
  }
  return steps
}

/** Plays the person: opens the mailed link and reads the code. @returns the code in the document, and the real one */
async function readCode({ body = '' }: DocumentedExchange, email: string): Promise<[string, string]> {
  const findMail = () => mail.received.find(({ to }) => to.includes(email))
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

/** Creates a signer with a new key, which replaces the key in the document. It signs JWTs as the document describes them. */
async function createSigner() {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const jwk = await exportJWK(publicKey)
  const shownKeys = new Map<string, string>()
  const jwts: ShownJwt[] = []
  const fillKeys = (text: string) =>
    [...shownKeys].reduce((filled, [shown, real]) => filled.replaceAll(shown, real), text)
  const sign = async ({ header, claims }: ShownJwt, fill: (text: string) => string) => {
    const filled = JSON.parse(fill(JSON.stringify(claims))) as JWTPayload
    const iat = Math.floor(Date.now() / 1000)
    const jkts = 'jkts' in claims && { jkts: [await calculateJwkThumbprint(jwk)] }
    const ath = 'ath' in claims && { ath: createHash('sha256').update(fill(SHOWN_TOKEN)).digest('base64url') }
    return new SignJWT({ ...filled, ...jkts, ...ath, iat, exp: iat + 60, jti: randomUUID() })
      .setProtectedHeader(JSON.parse(fillKeys(JSON.stringify(header))))
      .sign(privateKey)
  }
  return {
    /** Collects the JWTs that an exchange shows, and the public key that the real key replaces. */
    collectShownValues({ body = '' }: DocumentedExchange, json: readonly unknown[]) {
      jwts.push(
        ...json.filter(
          (shown): shown is ShownJwt => typeof shown === 'object' && !!shown && 'claims' in shown,
        ),
      )
      const [, x, y] = /"x": ?"([\w-]+)", ?"y": ?"([\w-]+)"/.exec(body + JSON.stringify(json)) ?? []
      if (x && y && jwk.x && jwk.y) shownKeys.set(x, jwk.x).set(y, jwk.y)
    },
    fillKeys,
    /** Replaces the placeholders for JWTs. @param fill replaces the other values of the document */
    async fillJwts(text: string, fill: (text: string) => string): Promise<string> {
      let filled = fillKeys(text)
      for (const [placeholder, isJwtFor] of PLACEHOLDERS) {
        const jwt = jwts.findLast(isJwtFor)
        if (filled.includes(placeholder) && jwt)
          filled = filled.replaceAll(placeholder, await sign(jwt, fill))
      }
      return filled
    },
  }
}

/** The placeholders for JWTs in the documents, each with a test for the JWT that belongs there. */
const PLACEHOLDERS: readonly [string, (jwt: ShownJwt) => boolean][] = [
  ['<assertion>', ({ claims }) => 'sub' in claims],
  ['<proof>', ({ claims }) => 'jkts' in claims || 'htu' in claims],
]

/** The token in the examples of the documents. */
const SHOWN_TOKEN = 'ppt_h4Jd8Kf0Lg2Zm6Xn1Cv5Bb9Qw3Er7Ty0Ui4Op8As2Df'

test.for([
  ['/auth/verified-email.md', 8],
  ['/auth/keys.md', 6],
  ['/auth/domain.md', 1],
  ['/auth/dpop.md', 4],
  ['/auth/errors.md', 3],
  ['/auth/lifetimes.md', 1],
] as const)('each request of %s gets the shown status, type and members', async ([path, count]) => {
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
    expect(getStatus(realBody)).toEqual(getStatus(shownBody))
  }
})

const getStatus = (body: unknown) => (body as { status?: unknown } | undefined)?.status

const withoutRequestId = (body: unknown) => ({ ...(body as object), request_id: '' })

test('/auth.md shows the responses of the registration and of the token endpoint', async () => {
  const markdown = await readDocument('/auth.md')
  const blocks = extractFencedBlocks(markdown, 'json').map((json) => JSON.parse(json))
  const registered = await fetch(`${system.origin}/api/agent/register`, { method: 'POST' })
  const agent = (await registered.json()) as Agent
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
  'the bodies for questions in %s are accepted',
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
