import { serviceUrls } from '@plainpath/metadata'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newMessage } from './contact-client.ts'
import { type Holding, MINUTE_MS, startHolding, WITHDRAWN } from './contact-people.ts'
import { expectProblem, sendRequest } from './send-request.ts'

let holding: Holding
beforeAll(async () => {
  holding = await startHolding()
})
afterAll(() => holding[Symbol.asyncDispose]())

const call = (name: string, args: object, token?: string) =>
  sendRequest(holding.contact.api.origin, {
    method: 'POST',
    path: '/api/mcp',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  })
const resultOf = ({ body }: { body: string }) => JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '{}').result
const tokenOf = (name: string, change: Record<string, unknown> = {}) =>
  holding.contact.tokenOf(`${name}@example.org`, `reg_${name}`, change)

async function sendMessage(token: string) {
  const { structuredContent } = resultOf(await call('send_contact_message', newMessage(), token))
  return structuredContent as { id: string; heldUntil: string }
}

/** Returns the error text of a tool result. */
function toolErrorOf(response: { status: number; body: string }): string {
  expect(response.status).toBe(200)
  const { isError, content, structuredContent } = resultOf(response)
  expect([isError, structuredContent]).toEqual([true, undefined])
  return content[0].text
}

test('a message is sent, looked up and withdrawn as by the routes', async () => {
  const token = tokenOf('ana')
  const sent = resultOf(
    await call('send_contact_message', { topic: 'attorney', message: 'Help with a hearing.' }, token),
  )
  expect(sent.structuredContent).toMatchObject({ status: 'received', attorneyLists: [{}, {}] })
  const { id, heldUntil } = sent.structuredContent
  const lookUp = async () => resultOf(await call('get_contact_message', { id }, token)).structuredContent
  expect(await lookUp()).toEqual({ id, status: 'received', heldUntil })
  for (const _time of [1, 2])
    expect(resultOf(await call('withdraw_contact_message', { id }, token)).structuredContent).toEqual({
      id,
      status: 'erased',
    })
  expect(await lookUp()).toEqual({ id, status: 'erased' })
  expect(await holding.storedContent(id)).toEqual([WITHDRAWN])
})

test('refuses to withdraw a delivered message, and tells the model the remaining options', async () => {
  const token = tokenOf('ben')
  const { id } = await sendMessage(token)
  await holding.deliver(id, 10 * MINUTE_MS)
  const text = toolErrorOf(await call('withdraw_contact_message', { id }, tokenOf('ben')))
  expect(text).toMatch(/erase.* \(already-delivered\)$/)
  const state = resultOf(await call('get_contact_message', { id }, tokenOf('ben')))
  expect(state.structuredContent).toMatchObject({ status: 'delivered' })
})

test('the same message again is not sent, and the model learns which was the first', async () => {
  const token = tokenOf('cleo')
  const message = newMessage()
  const { id } = resultOf(await call('send_contact_message', message, token)).structuredContent
  const keptBefore = await holding.contact.kept()
  expect(toolErrorOf(await call('send_contact_message', message, token))).toContain(id)
  expect(await holding.contact.kept()).toBe(keptBefore)
})

test.for(['get_contact_message', 'withdraw_contact_message'])(
  '%s finds no message of another registration',
  async (name) => {
    const { id } = await sendMessage(tokenOf('dora'))
    for (const other of [id, crypto.randomUUID()])
      expect(toolErrorOf(await call(name, { id: other }, tokenOf('eve')))).toMatch(/\(not-found\)$/)
    expect(toolErrorOf(await call(name, { id: 'nonsense' }, tokenOf('eve')))).toContain('id')
    const state = resultOf(await call('get_contact_message', { id }, tokenOf('dora')))
    expect(state.structuredContent).toMatchObject({ status: 'received' })
  },
)

const TOOLS = ['send_contact_message', 'get_contact_message', 'withdraw_contact_message']

describe.for(TOOLS)('%s', (name) => {
  const args = () => (name === 'send_contact_message' ? newMessage() : { id: crypto.randomUUID() })

  test.for([
    { why: 'no token', token: () => undefined, status: 401, code: 'token-required', scope: 'contact:write' },
    {
      why: 'a token that is none',
      token: () => `ppt_${'A'.repeat(43)}`,
      status: 401,
      code: 'invalid-token',
      scope: 'guides:read waitlist:write',
    },
    {
      why: 'a narrowed token of a registration that could have the scope',
      token: () => tokenOf('fay', { scope: 'guides:read' }),
      status: 403,
      code: 'insufficient-scope',
      scope: 'contact:write',
    },
  ])('refuses $why with a challenge', async ({ token, status, code, scope }) => {
    const keptBefore = await holding.contact.kept()
    const refused = await call(name, args(), token())
    expectProblem(refused, { status, code })
    expect(refused.headers['www-authenticate']).toContain(`scope="${scope}"`)
    expect(refused.headers['www-authenticate']).toContain(
      `resource_metadata="${holding.contact.api.origin}/.well-known/oauth-protected-resource/api/mcp"`,
    )
    expect(await holding.contact.kept()).toBe(keptBefore)
  })

  test('explains how to get the scope, which client credentials never give', async () => {
    const keptBefore = await holding.contact.kept()
    const response = await call(name, args(), holding.contact.api.auth.issue())
    expect(response.headers).not.toHaveProperty('www-authenticate')
    const text = toolErrorOf(response)
    expect(text).toContain('contact:write needs the verified_email flow')
    expect(text).toContain(serviceUrls(holding.contact.api.origin).authVerifiedEmail)
    expect(text).toMatch(/\(insufficient-scope\)$/)
    expect(await holding.contact.kept()).toBe(keptBefore)
  })
})

test('the model learns of mistakes that other arguments would fix', async () => {
  const keptBefore = await holding.contact.kept()
  const refused = await call('send_contact_message', { ...newMessage(), topic: 'spam' }, tokenOf('gus'))
  expect(toolErrorOf(refused)).toContain('topic')
  expect(await holding.contact.kept()).toBe(keptBefore)
})
