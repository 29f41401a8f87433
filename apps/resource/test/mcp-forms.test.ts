import { afterAll, beforeAll, expect, test } from 'vitest'
import { sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const QUESTION = { question: 'When do I renew my green card?' }
const FORMS = { elicitation: { form: {} } }

interface Call {
  readonly name?: string
  readonly args?: object
  readonly capabilities?: object
  readonly token?: string
  /** The input that a client sends back with the repeated call. */
  readonly back?: { readonly requestState?: unknown; readonly inputResponses?: object }
}

/** Calls a tool as a client of revision 2026-07-28. */
async function call({ name = 'answer_question', args = QUESTION, capabilities = FORMS, token, back }: Call) {
  const version = '2026-07-28'
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  }
  const response = await sendRequest(api.origin, {
    method: 'POST',
    path: '/api/mcp',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': version,
      'mcp-method': 'tools/call',
      'mcp-name': name,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args, ...back, _meta: meta },
    }),
  })
  const { result, error } = JSON.parse(response.body)
  return { status: response.status, result, error }
}

const accept = (content: object) => ({ check: { action: 'accept', content } })

/** Calls the tool and returns the form that it shows. */
async function showForm(options: Call = {}) {
  const { result } = await call(options)
  expect(result.resultType).toBe('input_required')
  const { requestState, inputRequests } = result
  expect(Object.keys(inputRequests)).toEqual(['check'])
  const { method, params } = inputRequests.check
  expect(method).toBe('elicitation/create')
  return { requestState, params, asked: Object.keys(params.requestedSchema.properties) }
}

test.for([{ elicitation: {} }, FORMS, { elicitation: { form: {}, url: {} } }])(
  'a client with %j shows a form with the first questions that it may ask',
  async (capabilities) => {
    const { params, asked } = await showForm({ capabilities })
    expect(asked).toContain('long-absence')
    expect(params).toMatchObject({ mode: 'form', requestedSchema: { type: 'object' } })
    expect(params.message).toContain(`${api.origin}/ask`)
  },
)

test.for([{}, { elicitation: { url: {} } }, { sampling: {} }])(
  'a client with %j gets the answer, as before',
  async (capabilities) => {
    const { result } = await call({ capabilities })
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { outcome: 'information' } })
    const text = result.content[0].text as string
    expect(text).toContain('## Ask the person these questions')
    expect(text).not.toContain('never in a form')
  },
)

test('a client of 2025 gets the answer, as before, although it can show forms', async () => {
  const legacy = (method: string, params: object) =>
    sendRequest(api.origin, {
      method: 'POST',
      path: '/api/mcp',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
  const clientInfo = { name: 'test', version: '1' }
  await legacy('initialize', { protocolVersion: '2025-11-25', capabilities: FORMS, clientInfo })
  const { status, body } = await legacy('tools/call', { name: 'answer_question', arguments: QUESTION })
  expect(status).toBe(200)
  expect(JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '').result).toMatchObject({
    structuredContent: { outcome: 'information' },
  })
})

test('Yes hands the person to an attorney, because of a fact', async () => {
  const { requestState } = await showForm()
  const { result } = await call({
    back: { requestState, inputResponses: accept({ 'long-absence': 'Yes' }) },
  })
  expect(result.structuredContent).toMatchObject({
    outcome: 'hand_off',
    handOff: { reasons: [{ trigger: 'long-absence', because: 'facts' }] },
  })
})

test('No takes the question away; the answer follows, with what no form may ask and the page to ask on', async () => {
  const { requestState, asked } = await showForm()
  const content = Object.fromEntries(asked.map((trigger) => [trigger, 'No']))
  const { result } = await call({ back: { requestState, inputResponses: accept(content) } })
  const { outcome, check } = result.structuredContent
  expect(outcome).toBe('information')
  const left = check.map(({ trigger }: { trigger: string }) => trigger)
  expect(left.filter((trigger: string) => asked.includes(trigger))).toEqual([])
  expect(left).toContain('criminal-history')
  const [, sensitive = ''] = result.content[0].text.split('never in a form')
  expect(sensitive).toContain(`${api.origin}/ask`)
  expect(sensitive).toContain('(`criminal-history`)')
})

test.for(['decline', 'cancel'])('the answer follows after %s, without a second form', async (action) => {
  const { requestState } = await showForm()
  const { result } = await call({ back: { requestState, inputResponses: { check: { action } } } })
  expect(result).toMatchObject({ resultType: 'complete', structuredContent: { outcome: 'information' } })
  expect(result.content[0].text).toContain('(`long-absence`)')
})

test('a question that needs an attorney, or that no guide answers, gets no form', async () => {
  for (const [question, outcome] of [
    ['I was arrested for a dui, can I renew my green card?', 'hand_off'],
    ['How do I get a visa for Canada?', 'out_of_scope'],
  ] as const)
    expect((await call({ args: { question } })).result).toMatchObject({ structuredContent: { outcome } })
})

const refusal = {
  error: { code: -32602, data: { reason: 'invalid_request_state' } },
}

test('a form counts only for the call that showed it', async () => {
  const [one, two] = [
    api.auth.issue({ client_id: `agt_${'1'.repeat(22)}` }),
    api.auth.issue({ client_id: `agt_${'2'.repeat(22)}` }),
  ]
  const { requestState } = await showForm({ token: one })
  const inputResponses = accept({ 'long-absence': 'Yes' })
  const back = { requestState, inputResponses }
  const [body = '', mac = ''] = requestState.split('.')
  for (const other of [
    { back },
    { token: two, back },
    { token: one, args: { question: 'When do I replace my green card?' }, back },
    { token: one, args: { ...QUESTION, facts: { smuggling: false } }, back },
    { token: one, name: 'search_guides', args: { query: 'green card' }, back },
    { token: one, back: { ...back, requestState: `${body}.${mac.slice(1)}` } },
    { token: one, back: { ...back, requestState: mac } },
    { token: one, back: { ...back, requestState: '' } },
    { token: one, back: { ...back, requestState: 1 } },
    { token: one, back: { ...back, requestState: { body, mac } } },
  ]) {
    const refused = await call(other)
    expect(refused).toMatchObject(refusal)
    expect(refused.result).toBeUndefined()
  }
  const { result } = await call({ token: one, back })
  expect(result.structuredContent).toMatchObject({ outcome: 'hand_off' })
})

test('responses without a state are no facts: the form is shown', async () => {
  const { asked } = await showForm({ back: { inputResponses: accept({ 'long-absence': 'Yes' }) } })
  expect(asked).toContain('long-absence')
})

test('a fact about something that the form did not ask is none', async () => {
  const { requestState, asked } = await showForm()
  expect(asked).not.toContain('abuse-victim')
  const { result } = await call({
    back: { requestState, inputResponses: accept({ 'abuse-victim': 'Yes' }) },
  })
  expect(result.structuredContent.outcome).toBe('information')
})

test('no part of a form is logged', async () => {
  const { requestState } = await showForm()
  await call({ back: { requestState, inputResponses: accept({ 'long-absence': 'Yes' }) } })
  const logged = api.logged.join('\n')
  for (const secret of [requestState, 'long-absence', 'green card']) expect(logged).not.toContain(secret)
})
