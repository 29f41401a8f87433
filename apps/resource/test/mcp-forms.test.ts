import { afterAll, beforeAll, expect, test } from 'vitest'
import { sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

let api: RunningResource
beforeAll(async () => {
  api = await startResource()
})
afterAll(() => api[Symbol.asyncDispose]())

const QUESTION = { question: 'When do I renew my green card?' }
/** The heading above the questions that must not be asked in a form, such as those about crimes. */
const SENSITIVE_HEADING = '## Show the person these questions, never in a form'
/** The capabilities of a client that can show a form (elicitation). */
const FORM_CAPABILITIES = { elicitation: { form: {} } }

interface ToolCall {
  readonly name?: string
  readonly args?: object
  readonly capabilities?: object
  readonly token?: string
  /** The additional parameters of a repeated call: the state of the form, and the person's input. */
  readonly formReply?: { readonly requestState?: unknown; readonly inputResponses?: object }
}

/** Calls a tool as a client of revision 2026-07-28. */
async function callTool(toolCall: ToolCall) {
  const { name = 'answer_question', args = QUESTION, token, formReply } = toolCall
  const { capabilities = FORM_CAPABILITIES } = toolCall
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
      params: { name, arguments: args, ...formReply, _meta: meta },
    }),
  })
  const { result, error } = JSON.parse(response.body)
  return { status: response.status, result, error }
}

/** Creates the input of a person who filled in the form. `check` is the server's name for the form. */
const createAcceptedResponse = (content: object) => ({ check: { action: 'accept', content } })

/** Calls the tool, and checks that the result is a form. Returns the parts of the form, and the triggers that it asks about. */
async function requestForm(options: ToolCall = {}) {
  const { result } = await callTool(options)
  expect(result.resultType).toBe('input_required')
  const { requestState, inputRequests } = result
  expect(Object.keys(inputRequests)).toEqual(['check'])
  const { method, params } = inputRequests.check
  expect(method).toBe('elicitation/create')
  return { requestState, params, askedTriggers: Object.keys(params.requestedSchema.properties) }
}

test.for([{ elicitation: {} }, FORM_CAPABILITIES, { elicitation: { form: {}, url: {} } }])(
  'a client with the capabilities %j gets a form with questions',
  async (capabilities) => {
    const { params, askedTriggers } = await requestForm({ capabilities })
    expect(askedTriggers).toContain('long-absence')
    expect(params).toMatchObject({ mode: 'form', requestedSchema: { type: 'object' } })
    expect(params.message).toContain(`${api.origin}/ask`)
  },
)

test.for([{}, { elicitation: { url: {} } }, { sampling: {} }])(
  'a client with the capabilities %j gets the answer without a form',
  async (capabilities) => {
    const { result } = await callTool({ capabilities })
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { outcome: 'information' } })
    const text = result.content[0].text as string
    expect(text).toContain('## Ask the person these questions')
    expect(text).not.toContain(SENSITIVE_HEADING)
  },
)

test('a client of revision 2025-11-25 gets the answer without a form, although it can show forms', async () => {
  const sendLegacy = (method: string, params: object) =>
    sendRequest(api.origin, {
      method: 'POST',
      path: '/api/mcp',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
  const clientInfo = { name: 'test', version: '1' }
  await sendLegacy('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: FORM_CAPABILITIES,
    clientInfo,
  })
  const { status, body } = await sendLegacy('tools/call', { name: 'answer_question', arguments: QUESTION })
  expect(status).toBe(200)
  expect(JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? '').result).toMatchObject({
    structuredContent: { outcome: 'information' },
  })
})

test('answering Yes leads to a hand-off, with the reason `facts`', async () => {
  const { requestState } = await requestForm()
  const { result } = await callTool({
    formReply: { requestState, inputResponses: createAcceptedResponse({ 'long-absence': 'Yes' }) },
  })
  expect(result.structuredContent).toMatchObject({
    outcome: 'hand_off',
    handOff: { reasons: [{ trigger: 'long-absence', because: 'facts' }] },
  })
})

test('after No to every question, the answer omits those questions and sends the person to /ask for the sensitive ones', async () => {
  const { requestState, askedTriggers } = await requestForm()
  const content = Object.fromEntries(askedTriggers.map((trigger) => [trigger, 'No']))
  const { result } = await callTool({
    formReply: { requestState, inputResponses: createAcceptedResponse(content) },
  })
  const { outcome, check } = result.structuredContent
  expect(outcome).toBe('information')
  const remainingTriggers = check.map(({ trigger }: { trigger: string }) => trigger)
  expect(remainingTriggers.filter((trigger: string) => askedTriggers.includes(trigger))).toEqual([])
  expect(remainingTriggers).toContain('criminal-history')
  const [, sensitivePart = ''] = result.content[0].text.split(SENSITIVE_HEADING)
  expect(sensitivePart).toContain(`${api.origin}/ask`)
  expect(sensitivePart).toContain('(`criminal-history`)')
})

test.for(['decline', 'cancel'])(
  'after %s, the client gets the answer without a second form',
  async (action) => {
    const { requestState } = await requestForm()
    const { result } = await callTool({ formReply: { requestState, inputResponses: { check: { action } } } })
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { outcome: 'information' } })
    expect(result.content[0].text).toContain('(`long-absence`)')
  },
)

test('after a form, the text has its answers as facts, and the call that repeats them shows no form', async () => {
  const { requestState, askedTriggers } = await requestForm()
  const content = Object.fromEntries(askedTriggers.map((trigger) => [trigger, 'No']))
  const inputResponses = createAcceptedResponse(content)
  const { result } = await callTool({ formReply: { requestState, inputResponses } })
  const facts = readFactsAfterForm(result)
  expect(facts).toEqual(Object.fromEntries(askedTriggers.map((trigger) => [trigger, false])))

  const nextFacts = { ...facts, 'criminal-history': false }
  const next = (await callTool({ args: { ...QUESTION, facts: nextFacts } })).result
  expect(next).toMatchObject({ resultType: 'complete', structuredContent: { outcome: 'information' } })
  const nextTriggers = next.structuredContent.check.map(({ trigger }: { trigger: string }) => trigger)
  expect(nextTriggers.filter((trigger: string) => trigger in nextFacts)).toEqual([])
  expect(next.content[0].text).not.toContain(FORM_HEADING)
})

test('after a declined form, a call with empty facts shows no form, and a call without facts shows it', async () => {
  const { requestState } = await requestForm()
  const inputResponses = { check: { action: 'decline' } }
  const { result } = await callTool({ formReply: { requestState, inputResponses } })
  const facts = readFactsAfterForm(result)
  expect(facts).toEqual({})
  const withFacts = await callTool({ args: { ...QUESTION, facts } })
  expect(withFacts.result).toMatchObject({ resultType: 'complete' })
  expect(withFacts.result.content[0].text).toContain('(`long-absence`)')
  await requestForm({ args: { ...QUESTION, facts: null } })
})

const FORM_HEADING = '## The person has seen a form'

/** Reads the facts that the text after a form tells the model to repeat. */
function readFactsAfterForm(result: { content: { text: string }[] }): object {
  const [, part = ''] = result.content[0]?.text.split(FORM_HEADING) ?? []
  return JSON.parse(/`({.*?})`/.exec(part)?.[1] ?? 'null')
}

test('no form is shown for a question that is handed off or that no guide answers', async () => {
  for (const [question, outcome] of [
    ['I was arrested for a dui, can I renew my green card?', 'hand_off'],
    ['How do I get a visa for Canada?', 'out_of_scope'],
  ] as const)
    expect((await callTool({ args: { question } })).result).toMatchObject({ structuredContent: { outcome } })
})

/** The JSON-RPC error `Invalid params`, with the reason that the MCP library adds. */
const REFUSAL = { error: { code: -32602, data: { reason: 'invalid_request_state' } } }

test('a form reply is accepted only with its own state, caller, tool and arguments', async () => {
  const [token, otherToken] = [
    api.auth.issue({ client_id: `agt_${'1'.repeat(22)}` }),
    api.auth.issue({ client_id: `agt_${'2'.repeat(22)}` }),
  ]
  const { requestState } = await requestForm({ token })
  const inputResponses = createAcceptedResponse({ 'long-absence': 'Yes' })
  const formReply = { requestState, inputResponses }
  const [body = '', mac = ''] = requestState.split('.')
  for (const changedCall of [
    { formReply },
    { token: otherToken, formReply },
    { token, args: { question: 'When do I replace my green card?' }, formReply },
    { token, args: { ...QUESTION, facts: { smuggling: false } }, formReply },
    { token, name: 'search_guides', args: { query: 'green card' }, formReply },
    { token, formReply: { ...formReply, requestState: `${body}.${mac.slice(1)}` } },
    { token, formReply: { ...formReply, requestState: mac } },
    { token, formReply: { ...formReply, requestState: '' } },
    { token, formReply: { ...formReply, requestState: 1 } },
    { token, formReply: { ...formReply, requestState: { body, mac } } },
  ]) {
    const refusal = await callTool(changedCall)
    expect(refusal).toMatchObject(REFUSAL)
    expect(refusal.result).toBeUndefined()
  }
  const { result } = await callTool({ token, formReply })
  expect(result.structuredContent).toMatchObject({ outcome: 'hand_off' })
})

test('input without a state is ignored, and the form is shown', async () => {
  const { askedTriggers } = await requestForm({
    formReply: { inputResponses: createAcceptedResponse({ 'long-absence': 'Yes' }) },
  })
  expect(askedTriggers).toContain('long-absence')
})

test('a reply about a trigger that the form did not ask about is ignored', async () => {
  const { requestState, askedTriggers } = await requestForm()
  expect(askedTriggers).not.toContain('abuse-victim')
  const { result } = await callTool({
    formReply: { requestState, inputResponses: createAcceptedResponse({ 'abuse-victim': 'Yes' }) },
  })
  expect(result.structuredContent.outcome).toBe('information')
})

test('the question, the state and the content of a form are not logged', async () => {
  const { requestState } = await requestForm()
  await callTool({
    formReply: { requestState, inputResponses: createAcceptedResponse({ 'long-absence': 'Yes' }) },
  })
  const log = api.logLines.join('\n')
  for (const secret of [requestState, 'long-absence', 'green card']) expect(log).not.toContain(secret)
})
