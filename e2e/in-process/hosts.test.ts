import { randomInt, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type AgentDocuments, startAgentDocuments } from '@plainpath/auth/agent-documents'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type App,
  createInitialize,
  openApp,
  parseMessage,
  type ServerMetadata,
  sendMcp,
} from '../hosts/app.ts'
import { type AppConnection, requireCallback, requireTokens } from '../hosts/connect.ts'
import type { HostFixture } from '../hosts/host-fixture.ts'
import { HOSTS } from '../hosts/host-fixtures.ts'
import { createPerson, type Person } from '../hosts/person.ts'
import { publishDocument } from '../hosts/publish-document.ts'
import { createSender } from '../send.ts'
import { type SystemWithMail, startSystemWithMail } from '../start-system-with-mail.ts'

/*
 * Every chat host and IDE, with requests as it sends them. The host introduces itself, a person signs in, and the host uses and
 * refreshes its tokens until the person revokes the access.
 */

const CHAT_HOSTS = JSON.parse(
  readFileSync(new URL('../../apps/auth/chat-hosts.json', import.meta.url), 'utf8'),
) as {
  hosts: {
    redirectUris: string[]
    redirectUriPrefixes: string[]
    documents: { metadata: { client_id: string } }[]
  }[]
}

const resources = new AsyncDisposableStack()
let documents: AgentDocuments
let system: SystemWithMail
beforeAll(async () => {
  documents = resources.use(await startAgentDocuments())
  // Every host name leads to the test server, so the pinned copies are used wherever this test runs.
  const documentOverrides = { ...documents.documentOverrides, resolve: async () => ['127.0.0.1'] }
  system = resources.use(
    await startSystemWithMail({ publicMcp: true, documents: { ...documents, documentOverrides } }),
  )
})
afterAll(() => resources.disposeAsync())

test('every fixture has a unique name, and names its source', () => {
  expect(new Set(HOSTS.map(({ name }) => name)).size).toBe(HOSTS.length)
  for (const { source } of HOSTS) expect(source).toMatch(/\S/)
})

test('every redirect URI, prefix and document in chat-hosts.json is used by a fixture', () => {
  const usedUris = HOSTS.map(({ redirectUri }) => redirectUri)
  const usedDocuments = HOSTS.flatMap(({ identification }) =>
    identification.by === 'document' ? (identification.clientId ?? []) : [],
  )
  for (const { redirectUris, redirectUriPrefixes, documents: copies } of CHAT_HOSTS.hosts) {
    expect(usedUris).toEqual(expect.arrayContaining(redirectUris))
    for (const prefix of redirectUriPrefixes)
      expect(usedUris.filter((uri) => uri.startsWith(prefix) && uri.length > prefix.length)).not.toEqual([])
    expect(usedDocuments).toEqual(expect.arrayContaining(copies.map(({ metadata }) => metadata.client_id)))
  }
})

/** An open app with its fixture. In its redirect URI, a random port replaces `PORT`. */
interface Host {
  readonly fixture: HostFixture
  readonly app: App
  readonly redirectUri: string
}

/** Where auth finds the document of a host: in its pinned copies, or at a URL of the test server. */
type DocumentSource = 'pinned' | 'published'

const METADATA_PATHS = {
  path: '/.well-known/oauth-protected-resource/mcp',
  root: '/.well-known/oauth-protected-resource',
} as const

/**
 * Opens the app of a fixture, which registers or has a document. `documentSource` matters only to a fixture with a `clientId`.
 * Other documents are always published.
 */
async function openHost(fixture: HostFixture, documentSource: DocumentSource): Promise<Host> {
  const port = String(randomInt(49_152, 65_536))
  const withPort = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll('PORT', port)) as T
  const { identification, userAgents, clientInfo, capabilities, revision, metadataLocations } = fixture
  const commonOptions = {
    origin: system.origin,
    userAgents,
    clientInfo,
    capabilities,
    ...(revision && { revision }),
    ...(metadataLocations && {
      metadataPaths: metadataLocations.map((location) => METADATA_PATHS[location]),
    }),
  }
  const redirectUri = withPort(fixture.redirectUri)
  if (identification.by === 'registration')
    return {
      fixture,
      redirectUri,
      app: await openApp({ ...commonOptions, registration: withPort(identification.body) }),
    }
  if (documentSource === 'pinned' && identification.clientId !== undefined)
    return {
      fixture,
      redirectUri,
      app: await openApp({ ...commonOptions, clientId: identification.clientId }),
    }
  const key = fixture.assertionAlgorithm && (await publishKey(fixture.assertionAlgorithm))
  const { url } = publishDocument(documents, (id) => ({
    client_id: id,
    ...identification.document,
    ...(key && { jwks_uri: key.jwksUri }),
  }))
  return {
    fixture,
    redirectUri,
    app: await openApp({ ...commonOptions, clientId: url, ...(key && { authenticate: key.sign }) }),
  }
}

/** Publishes a key set, as the host does. Returns its URL, and a function that signs client assertions (RFC 7523) with the key. */
async function publishKey(alg: string) {
  const { publicKey, privateKey } = await generateKeyPair(alg)
  const kid = `cimd-${randomUUID()}`
  const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }
  const { url } = publishDocument(documents, () => ({ keys: [jwk] }))
  return { jwksUri: url, sign }

  async function sign(clientId: string, server: ServerMetadata) {
    const assertion = await new SignJWT()
      .setProtectedHeader({ alg, kid, typ: 'JWT' })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience(server.token_endpoint)
      .setJti(randomUUID())
      .setIssuedAt()
      .setExpirationTime('1 minute')
      .sign(privateKey)
    return {
      client_assertion: assertion,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    }
  }
}

/** Functions that return the `scope` of the authorization request, by the value of `scope` in a fixture. */
const SCOPES: Readonly<Record<HostFixture['scope'], (app: App) => string | undefined>> = {
  'resource scopes': ({ resource }) => resource.scopes_supported.join(' '),
  'with leading space and offline_access': ({ resource }) =>
    ` ${resource.scopes_supported.join(' ')} offline_access`,
  'resource scopes and offline_access': ({ resource }) =>
    `${resource.scopes_supported.join(' ')} offline_access`,
  'server scopes': ({ server }) => server.scopes_supported.join(' '),
  omitted: () => undefined,
}

async function connectHost({ fixture, app, redirectUri }: Host, person: Person): Promise<AppConnection> {
  const resource = {
    'as published': app.resource.resource,
    'with trailing slash': `${app.resource.resource}/`,
    omitted: undefined,
  }[fixture.resource]
  const changes = { resource, scope: SCOPES[fixture.scope](app), ...fixture.parameters }
  const authorization = app.authorize({ redirectUri, changes })
  const callback = await person.signIn(authorization.url)
  requireCallback(app, authorization, callback)
  const tokens = await app.exchange(authorization, callback, { resource })
  expect(tokens).toMatchObject({
    status: 200,
    token_type: 'Bearer',
    expires_in: 8 * 3600,
    scope: 'contact:write',
  })
  return { app, person, authorization, callback, ...requireTokens(tokens) }
}

/** Sends the messages with which the host begins, up to `tools/list`. Returns the names of the tools. */
async function startSession({ fixture, app }: Host, token: string): Promise<readonly string[]> {
  if (fixture.discoversFirst) {
    const discovery = await app.sendMessage({ method: 'server/discover' }, { token, revision: '2026-07-28' })
    expect(discovery.status).toBe(200)
  }
  const { clientInfo, capabilities, revision } = fixture
  const initialization = await app.sendMessage(createInitialize(clientInfo, capabilities, revision), {
    token,
  })
  const { result: agreement } = parseMessage(initialization.text)
  expect([initialization.status, agreement]).toMatchObject([
    200,
    { protocolVersion: revision ?? '2025-11-25' },
  ])
  expect((await app.sendMessage({ method: 'notifications/initialized' }, { token })).status).toBe(202)
  const toolList = await app.sendMessage({ method: 'tools/list' }, { token })
  const { result } = parseMessage(toolList.text) as { result: { tools: { name: string }[] } }
  return result.tools.map(({ name }) => name)
}

/** Asks a question, sends a message for the person, and withdraws it. */
async function useTools(app: App, token: string): Promise<void> {
  const answer = await app.callTool(token, 'answer_question', {
    question: 'When do I renew my green card?',
  })
  expect(answer).toMatchObject({ status: 200, structuredContent: { outcome: expect.any(String) } })
  const message = `When do I renew my work permit? ${randomUUID()}`
  const sentMessage = await app.callTool(token, 'send_contact_message', { topic: 'question', message })
  expect(sentMessage).toMatchObject({ status: 200, structuredContent: { id: expect.any(String) } })
  const id = String(sentMessage.structuredContent?.['id'])
  expect((await app.callTool(token, 'get_contact_message', { id })).structuredContent).toMatchObject({
    status: 'received',
  })
  expect((await app.callTool(token, 'withdraw_contact_message', { id })).isError).toBeFalsy()
  expect((await app.callTool(token, 'get_contact_message', { id })).structuredContent).toMatchObject({
    status: 'erased',
  })
}

async function expectFullLifecycle(host: Host): Promise<void> {
  const { app } = host
  using person = createPerson(system)
  const { accessToken, refreshToken } = await connectHost(host, person)
  expect(await startSession(host, accessToken)).toEqual(
    expect.arrayContaining(['answer_question', 'send_contact_message']),
  )
  await useTools(app, accessToken)
  // Some hosts refresh simultaneously from two places.
  const responses = await Promise.all([app.refresh(refreshToken), app.refresh(refreshToken)])
  const refreshedTokens = responses.map(requireTokens)
  const tokens = [accessToken, ...refreshedTokens.map((each) => each.accessToken)]
  expect(new Set(tokens).size).toBe(3)
  const lastRefresh = await app.refresh(refreshedTokens[0]?.refreshToken ?? '', { resource: undefined })
  tokens.push(requireTokens(lastRefresh).accessToken)
  for (const token of tokens)
    expect(await app.callTool(token, 'list_guides', { limit: 1 })).toMatchObject({ status: 200 })
  await person.revokeAllAccess()
  for (const token of tokens) {
    expect((await app.sendMessage({ method: 'tools/list' }, { token })).status).toBe(401)
    await expectChallenge(host, token)
  }
  expect(await app.refresh(requireTokens(lastRefresh).refreshToken)).toMatchObject({
    status: 400,
    error: 'invalid_grant',
  })
}

/**
 * Checks the response to a tool call with a revoked token. ChatGPT gets a tool result, because it opens its sign-in only for a
 * result. Every other host gets a 401.
 */
async function expectChallenge({ app, fixture }: Host, token: string): Promise<void> {
  const params = { name: 'list_guides', arguments: {} }
  const { status, text, headers } = await app.sendMessage({ method: 'tools/call', params }, { token })
  const metadata = `resource_metadata="${system.origin}/.well-known/oauth-protected-resource/mcp"`
  if (fixture.userAgents.mcp.startsWith('openai-mcp')) {
    const { result } = parseMessage(text)
    expect(status).toBe(200)
    const challenges = [expect.stringContaining(metadata)]
    expect(result).toMatchObject({ isError: true, _meta: { 'mcp/www_authenticate': challenges } })
  } else expect([status, headers.get('www-authenticate')]).toEqual([401, expect.stringContaining(metadata)])
}

/** One host for each combination of user agent and client name that hosts send to the MCP server. */
const MCP_HOSTS = [
  ...new Map(HOSTS.map((host) => [`${host.userAgents.mcp} ${host.clientInfo.name}`, host])).values(),
]

describe('a host uses the public address without signing in, and is never asked to sign in:', () => {
  test.for(MCP_HOSTS.map((host) => [host.name, host] as const))('%s', async ([, host]) => {
    const { userAgents, clientInfo, capabilities, discoversFirst, revision = '2025-11-25' } = host
    using sender = createSender(system.mcpPublicOrigin)
    const headers = { 'user-agent': userAgents.mcp }
    const send = (method: string, params: Record<string, unknown> = {}, token?: string) =>
      sendMcp(sender, { method, params }, { headers, clientInfo, capabilities, token, revision })
    // An invalid token makes no difference.
    for (const token of [undefined, `ppt_${'A'.repeat(43)}`]) {
      const discover = { method: 'server/discover' }
      const modernOptions = { headers, clientInfo, capabilities, token, revision: '2026-07-28' } as const
      if (discoversFirst) expect((await sendMcp(sender, discover, modernOptions)).status).toBe(200)
      const initializeParams = { protocolVersion: revision, capabilities, clientInfo }
      expect((await send('initialize', initializeParams, token)).status).toBe(200)
      expect((await send('notifications/initialized', {}, token)).status).toBe(202)
      const toolList = await send('tools/list', {}, token)
      expect([toolList.status, toolList.text]).toEqual([200, expect.stringContaining('answer_question')])
      expect(toolList.text).not.toContain('send_contact_message')
      const call = { name: 'answer_question', arguments: { question: 'When do I renew my green card?' } }
      const answer = await send('tools/call', call, token)
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"outcome"')])
      // A tool of the other address is unknown here. The response is not a 401, which would begin a sign-in.
      const unknownTool = await send('tools/call', { name: 'send_contact_message', arguments: {} }, token)
      expect([unknownTool.status, unknownTool.headers.get('www-authenticate')]).toEqual([200, null])
    }
    for (const name of ['oauth-protected-resource', 'oauth-authorization-server', 'openid-configuration'])
      for (const path of [`/.well-known/${name}`, `/.well-known/${name}/mcp`]) {
        const { status, text } = await sender.send({ path, headers: { 'user-agent': userAgents.oauth } })
        expect([path, status]).toEqual([path, 404])
        // The text is neither HTML nor JSON.
        expect(text).not.toMatch(/[<{]/)
      }
  })
})

describe('a host connects, asks, sends a message, withdraws it, refreshes its tokens, and loses access when the person revokes it:', () => {
  test.for(HOSTS.map((host) => [host.name, host] as const))('%s', async ([, fixture]) => {
    const host = await openHost(fixture, 'pinned')
    using _app = host.app
    await expectFullLifecycle(host)
  })

  const withDocuments = HOSTS.filter(
    ({ identification }) => identification.by === 'document' && identification.clientId !== undefined,
  )
  test.for(withDocuments.map((host) => [host.name, host] as const))(
    '%s, whose document is fetched',
    async ([, fixture]) => {
      const host = await openHost(fixture, 'published')
      using _app = host.app
      await expectFullLifecycle(host)
    },
  )
})
