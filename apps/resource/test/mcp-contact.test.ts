import { createServiceUrls } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HoldFixture, MINUTE_MS, startHoldFixture, WITHDRAWN_ROW } from './hold-fixture.ts'
import { expectProblem, sendRequest, toAsciiJson } from './send-request.ts'
import { newMessage } from './start-contact.ts'

let fixture: HoldFixture
beforeAll(async () => {
  fixture = await startHoldFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

const callTool = (name: string, args: object, token?: string) =>
  sendRequest(fixture.contact.api.origin, {
    method: 'POST',
    path: '/api/mcp',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: toAsciiJson({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  })
/** Parses the JSON-RPC result, which arrives as an event stream with one event. Returns undefined for another body. */
const parseResult = ({ body }: { body: string }) => JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '{}').result
const issueToken = (name: string, overrides: Record<string, unknown> = {}) =>
  fixture.contact.issueToken(`${name}@example.org`, `reg_${name}`, overrides)

async function sendMessage(token: string) {
  const { structuredContent } = parseResult(await callTool('send_contact_message', newMessage(), token))
  return structuredContent as { id: string; heldUntil: string }
}

/** Checks that a tool result is an error. Returns its text. */
function getToolError(response: { status: number; body: string }): string {
  expect(response.status).toBe(200)
  const { isError, content, structuredContent } = parseResult(response)
  expect([isError, structuredContent]).toEqual([true, undefined])
  return content[0].text
}

test('a message is sent, looked up and withdrawn by the tools', async () => {
  const token = issueToken('ana')
  const sendResult = parseResult(
    await callTool('send_contact_message', { topic: 'attorney', message: 'Help with a hearing.' }, token),
  )
  expect(sendResult.structuredContent).toMatchObject({ status: 'received', attorneyLists: [{}, {}] })
  const { id, heldUntil } = sendResult.structuredContent
  const lookUp = async () =>
    parseResult(await callTool('get_contact_message', { id }, token)).structuredContent
  expect(await lookUp()).toEqual({ id, status: 'received', heldUntil })
  // A repeated withdrawal gets the same result.
  for (const _time of [1, 2])
    expect(parseResult(await callTool('withdraw_contact_message', { id }, token)).structuredContent).toEqual({
      id,
      status: 'erased',
    })
  expect(await lookUp()).toEqual({ id, status: 'erased' })
  expect(await fixture.readStoredContent(id)).toEqual([WITHDRAWN_ROW])
})

test('the longest message is sent, although each of its characters has 12 bytes in the JSON', async () => {
  const message = { topic: 'question', message: '🙂'.repeat(5000) }
  const result = parseResult(await callTool('send_contact_message', message, issueToken('max')))
  expect(result.structuredContent).toMatchObject({ status: 'received' })
})

test('a delivered message is not withdrawn, and the result says how it can be erased', async () => {
  const token = issueToken('ben')
  const { id } = await sendMessage(token)
  await fixture.deliver(id, 10 * MINUTE_MS)
  const text = getToolError(await callTool('withdraw_contact_message', { id }, issueToken('ben')))
  expect(text).toMatch(/erase.* \(already-delivered\)$/)
  const getResult = parseResult(await callTool('get_contact_message', { id }, issueToken('ben')))
  expect(getResult.structuredContent).toMatchObject({ status: 'delivered' })
})

test('the same message is not sent again, and the result names the first', async () => {
  const token = issueToken('cleo')
  const message = newMessage()
  const { id } = parseResult(await callTool('send_contact_message', message, token)).structuredContent
  const rowsBefore = await fixture.contact.countStoredRows()
  expect(getToolError(await callTool('send_contact_message', message, token))).toContain(id)
  expect(await fixture.contact.countStoredRows()).toBe(rowsBefore)
})

test.for(['get_contact_message', 'withdraw_contact_message'])(
  '%s finds no message of another registration',
  async (name) => {
    const { id } = await sendMessage(issueToken('dora'))
    for (const messageId of [id, crypto.randomUUID()])
      expect(getToolError(await callTool(name, { id: messageId }, issueToken('eve')))).toMatch(
        /\(not-found\)$/,
      )
    expect(getToolError(await callTool(name, { id: 'nonsense' }, issueToken('eve')))).toContain('id')
    const getResult = parseResult(await callTool('get_contact_message', { id }, issueToken('dora')))
    expect(getResult.structuredContent).toMatchObject({ status: 'received' })
  },
)

const CONTACT_TOOLS = ['send_contact_message', 'get_contact_message', 'withdraw_contact_message']

describe.for(CONTACT_TOOLS)('%s', (name) => {
  const createArgs = () => (name === 'send_contact_message' ? newMessage() : { id: crypto.randomUUID() })

  test.for([
    {
      description: 'no token',
      getToken: () => undefined,
      status: 401,
      code: 'token-required',
      scope: 'contact:write',
    },
    {
      description: 'an unknown token',
      getToken: () => `ppt_${'A'.repeat(43)}`,
      status: 401,
      code: 'invalid-token',
      // The scopes that every agent can get.
      scope: 'guides:read waitlist:write',
    },
    {
      description: 'a token without the scope, of a registration that could get it',
      getToken: () => issueToken('fay', { scope: 'guides:read' }),
      status: 403,
      code: 'insufficient-scope',
      scope: 'contact:write',
    },
  ])('refuses $description with a challenge', async ({ getToken, status, code, scope }) => {
    const rowsBefore = await fixture.contact.countStoredRows()
    const refusal = await callTool(name, createArgs(), getToken())
    expectProblem(refusal, { status, code })
    expect(refusal.headers['www-authenticate']).toContain(`scope="${scope}"`)
    expect(refusal.headers['www-authenticate']).toContain(
      `resource_metadata="${fixture.contact.api.origin}/.well-known/oauth-protected-resource/api/mcp"`,
    )
    expect(await fixture.contact.countStoredRows()).toBe(rowsBefore)
  })

  test('explains to an anonymous agent how to get the scope', async () => {
    const rowsBefore = await fixture.contact.countStoredRows()
    const response = await callTool(name, createArgs(), fixture.contact.api.auth.issue())
    expect(response.headers).not.toHaveProperty('www-authenticate')
    const text = getToolError(response)
    expect(text).toContain('contact:write needs the verified_email flow')
    expect(text).toContain(createServiceUrls(fixture.contact.api.origin).authVerifiedEmail)
    expect(text).toMatch(/\(insufficient-scope\)$/)
    expect(await fixture.contact.countStoredRows()).toBe(rowsBefore)
  })
})

test('an invalid argument is named in the result', async () => {
  const rowsBefore = await fixture.contact.countStoredRows()
  const refusal = await callTool(
    'send_contact_message',
    { ...newMessage(), topic: 'spam' },
    issueToken('gus'),
  )
  expect(getToolError(refusal)).toContain('topic')
  expect(await fixture.contact.countStoredRows()).toBe(rowsBefore)
})
