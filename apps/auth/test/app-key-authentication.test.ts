import { randomBytes } from 'node:crypto'
import { DAY_MS, RULES } from '@plainpath/domain'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { isActive } from './agent-client.ts'
import { type AgentDocuments, createDocument, startAgentDocuments } from './agent-documents.ts'
import { getCode, postForm, readTokens, redeemCode, refresh } from './app-flow.ts'
import {
  authenticateApp,
  connectDocumentApp,
  type DocumentApp,
  NO_RESOURCE,
  publishDocumentApp,
  startDocumentInstance,
} from './document-app.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, INVALID_CLIENT } from './expect-refusal.ts'
import { generateTestKeyPair, type KeyPair } from './key-agent.ts'
import { type AuthTestbed, openAuthTestbed } from './open-auth-testbed.ts'
import type { RunningAuth } from './start-auth.ts'
import { type Clock, getUrlToken } from './url-agent.ts'

/* How an app whose document says `private_key_jwt` authenticates at the token and revocation endpoints. */

/** The app leaves `client_id` out: RFC 7521 §4.2 makes it optional beside an assertion. */
const NO_CLIENT_ID = { ...NO_RESOURCE, client_id: undefined }

const resources = new AsyncDisposableStack()
let agentDocuments: AgentDocuments
let testbed: AuthTestbed
let auth: RunningAuth
let key: KeyPair
const clock: Clock = { now: new Date() }
beforeAll(async () => {
  agentDocuments = resources.use(await startAgentDocuments())
  testbed = resources.use(await openAuthTestbed())
  auth = resources.use(await startDocumentInstance(testbed, agentDocuments, clock))
  key = await generateTestKeyPair()
})
beforeEach(() => {
  // In the past, because oidc-provider compares expiry times with the machine's clock.
  clock.now = new Date(Date.now() - 80 * DAY_MS)
})
afterAll(async () => {
  await expectNoConfidentialValues(auth)
  await resources.disposeAsync()
})

const publish = () => publishDocumentApp(agentDocuments, key, 'private_key_jwt')
/** Returns the app with a key that its document does not have. */
const withOtherKey = async (app: DocumentApp): Promise<DocumentApp> => ({
  ...app,
  published: { ...app.published, key: await generateTestKeyPair() },
})
const revoke = async (app: DocumentApp, token: string, fields: Record<string, string | undefined> = {}) =>
  postForm(auth, '/oauth/revoke', {
    client_id: app.client.id,
    token,
    ...(await authenticateApp(auth, app, clock)),
    ...fields,
  })
const createUnknownToken = () => `ppt_${randomBytes(32).toString('base64url')}`

test.for([
  ['without client_id', undefined],
  ['with an empty client_id', ''],
] as const)('an app with a key gets, refreshes and revokes tokens %s', async ([_title, client_id]) => {
  const app = publish()
  const fields = { ...NO_RESOURCE, client_id }
  const code = await getCode({ auth }, app.client, NO_RESOURCE)
  const { access, refresh: token } = readTokens(
    auth,
    await redeemCode(auth, app.client, code, { ...fields, ...(await authenticateApp(auth, app, clock)) }),
  )
  const refreshFields = { ...fields, ...(await authenticateApp(auth, app, clock)) }
  const refreshed = readTokens(auth, await refresh(auth, app.client, token, refreshFields))
  expect(await revoke(app, access, { client_id })).toMatchObject({ status: 200 })
  expect([await isActive(auth, access), await isActive(auth, refreshed.access)]).toEqual([false, true])
  expect(await revoke(app, refreshed.refresh, { client_id })).toMatchObject({ status: 200 })
  expect(await isActive(auth, refreshed.access)).toBe(false)
})

test('an app with a key is refused without client_id if the assertion is of another key, of another app or malformed', async () => {
  const [app, otherApp] = [publish(), publish()]
  const tokens = await connectDocumentApp(auth, app, clock)
  const refreshWith = (fields: Record<string, string>) =>
    refresh(auth, app.client, tokens.refresh, { ...NO_CLIENT_ID, ...fields })
  const otherKeyFields = await authenticateApp(auth, await withOtherKey(app), clock)
  expectProblem(await refreshWith(otherKeyFields), INVALID_CLIENT)
  const otherAppFields = await authenticateApp(auth, otherApp, clock)
  expectProblem(await refreshWith({ ...otherAppFields, client_id: app.client.id }), INVALID_CLIENT)
  expectProblem(await refreshWith({ ...otherAppFields, client_assertion: 'x' }), INVALID_CLIENT)
  // The refresh token belongs to another app.
  expectProblem(await refreshWith(otherAppFields), {
    status: 400,
    code: 'invalid-grant',
    error: 'invalid_grant',
  })
  readTokens(auth, await refreshWith(await authenticateApp(auth, app, clock)))
})

test('an app with a key can revoke a token that is unknown, expired or already revoked, any number of times', async () => {
  const app = publish()
  const { access, refresh: token } = await connectDocumentApp(auth, app, clock)
  for (let n = 0; n < 2; n += 1) expect(await revoke(app, access)).toMatchObject({ status: 200, text: '{}' })
  // An address may fail to authenticate as a client 20 times in ten minutes.
  for (let n = 0; n < 21; n += 1)
    expect(await revoke(app, createUnknownToken())).toMatchObject({ status: 200, text: '{}' })
  const { access: expired } = readTokens(
    auth,
    await refresh(auth, app.client, token, { ...NO_RESOURCE, ...(await authenticateApp(auth, app, clock)) }),
  )
  clock.now = new Date(clock.now.getTime() + RULES.appTokenMs + 1_000)
  expect(await revoke(app, expired)).toMatchObject({ status: 200 })
  expect(await revoke(app, 'x')).toMatchObject({ status: 200 })
  expectProblem(await revoke(await withOtherKey(app), createUnknownToken()), INVALID_CLIENT)
  expectProblem(await revoke(app, access, { client_assertion: 'x' }), INVALID_CLIENT)
})

test('an agent with a URL can revoke an unknown token, also if its document describes an app too, and another URL cannot', async () => {
  const agent = agentDocuments.publish([key])
  const agentAndApp = agentDocuments.publish([key])
  agentAndApp.setDocument({
    ...createDocument(agentAndApp.client_id, [key]),
    redirect_uris: ['http://127.0.0.1/callback'],
  })
  clock.now = new Date()
  for (const published of [agent, agentAndApp]) {
    const client = { ...publish().client, id: published.client_id }
    const asApp = { client, published, document: {} }
    const { token } = await getUrlToken(auth, published, clock)
    expect(await revoke(asApp, createUnknownToken())).toMatchObject({ status: 200 })
    expectProblem(await revoke(await withOtherKey(asApp), createUnknownToken()), INVALID_CLIENT)
    expect(await isActive(auth, token)).toBe(true)
    expect(await revoke(asApp, token)).toMatchObject({ status: 200 })
    expect(await isActive(auth, token)).toBe(false)
  }
  // This document describes an agent that has never requested a token.
  const newAgent = agentDocuments.publish([key])
  const asNewApp = {
    client: { ...publish().client, id: newAgent.client_id },
    published: newAgent,
    document: {},
  }
  expectProblem(await revoke(asNewApp, createUnknownToken()), INVALID_CLIENT)
})
