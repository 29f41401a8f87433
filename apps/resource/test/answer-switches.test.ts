import { Answer } from '@plainpath/domain'
import { openPool } from '@plainpath/postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createToolCall, ERAS, parseMessage, sendMessage } from './mcp-messages.ts'
import { runResource } from './run-resource.ts'
import { createPost, expectProblem, type HttpResponse, sendRequest } from './send-request.ts'
import { type RunningResource, startResource } from './start-resource.ts'

const UNREACHABLE_DATABASE = 'postgres://nobody@127.0.0.1:1/none'
const RENEW = { question: 'When do I renew my green card?' }
const ARREST = { question: 'I was arrested last year. Can I renew my green card?' }
const PUBLIC_MCP_HOST = 'localhost:8099'
/** A switch takes effect within two seconds. The timeout is longer, because a machine that runs tests is busy. */
const POLL_OPTIONS = { timeout: 15_000, interval: 20 }

const resources = new AsyncDisposableStack()
let firstApi: RunningResource
let secondApi: RunningResource
beforeAll(async () => {
  const api = resources.use(
    await startResource({ env: { RESOURCE_MCP_PUBLIC_ORIGIN: `http://${PUBLIC_MCP_HOST}` } }),
  )
  firstApi = api
  secondApi = resources.use(await startResource({ otherInstance: api }))
  await run('guides', 'publish')
})
afterAll(() => resources.disposeAsync())

const run = (...args: string[]) => runResource(args, { RESOURCE_DATABASE_URL: firstApi.databaseUrl })
const postQuestion = (api: RunningResource, body: object) =>
  sendRequest(api.origin, { path: '/api/answers', ...createPost(body) })
const read = (api: RunningResource, path: string) => sendRequest(api.origin, { path })
const readAnswersHealth = async (api: RunningResource) => (await read(api, '/api/health')).json()['answers']

/** Polls both instances until each returns the expected value. */
async function expectOnBoth<T>(readValue: (api: RunningResource) => Promise<T>, expected: T): Promise<void> {
  for (const api of [firstApi, secondApi])
    await expect.poll(() => readValue(api), POLL_OPTIONS).toEqual(expected)
}

/** Reads the last two entries of the audit log that name an actor, the older one first. */
async function readLastAuditLines(): Promise<string[]> {
  const { rows } = await firstApi.db.query<{ line: string }>(
    `select action || ' ' || about as line from desk_audit where actor <> '' order by id desc limit 2`,
  )
  return rows.map(({ line }) => line).toReversed()
}

test('answers are paused and resumed on both instances, which health, metrics and the audit log show', async () => {
  expect((await run('answers', 'pause', '--reason', 'wrong fee')).code).toBe(0)
  await expectOnBoth(async (api) => (await postQuestion(api, RENEW)).status, 503)
  const refusal = await postQuestion(secondApi, RENEW)
  expectPaused(refusal)
  expect(await readAnswersHealth(secondApi)).toEqual({
    status: 'paused',
    withdrawnSections: [],
    disabledTriggers: [],
  })
  expect((await read(secondApi, '/api/health')).json()['status']).toBe('degraded')
  expect(await (await fetch(`${secondApi.operations.url}/metrics`)).text()).toMatch(
    /^answers_paused\{[^}]*\} 1$/m,
  )
  expect((await read(secondApi, '/api/guides/work-permit')).status).toBe(200)

  expect((await run('answers', 'resume')).code).toBe(0)
  await expectOnBoth(async (api) => (await postQuestion(api, RENEW)).status, 200)
  expect(await readAnswersHealth(secondApi)).toMatchObject({ status: 'ok' })
  expect(await readLastAuditLines()).toEqual(['answers pause all: wrong fee', 'answers resume all'])
})

/** Expects the problem `answers-paused`, which tells the client when to retry and names places to get help. */
function expectPaused(refusal: HttpResponse): void {
  expect(refusal.headers['retry-after']).toBe('300')
  const { findHelp, ...problem } = refusal.json() as { findHelp: { phone?: string; url?: string }[] }
  expect(problem).toMatchObject({ status: 503, code: 'answers-paused' })
  expect(findHelp.map(({ phone }) => phone)).toContain('911')
  expect(findHelp.some(({ url }) => url?.includes('justice.gov'))).toBe(true)
}

test('while answers are paused, the tool answer_question returns the help in a tool error', async () => {
  expect((await run('answers', 'pause')).code).toBe(0)
  await expectOnBoth(async (api) => (await postQuestion(api, RENEW)).status, 503)
  for (const callAnswerTool of ANSWER_TOOL_CALLS)
    expectHelpInToolError(await callAnswerTool(firstApi), { code: 'answers-paused', retryAfter: 300 })
  expect((await run('answers', 'resume')).code).toBe(0)
  await expectOnBoth(async (api) => (await postQuestion(api, RENEW)).status, 200)
  for (const callAnswerTool of ANSWER_TOOL_CALLS)
    expect(parseMessage(await callAnswerTool(firstApi)).result.structuredContent).toMatchObject({
      outcome: 'information',
    })
})

/** Functions that call `answer_question` in each era, at the address for agents and at the public address. */
const ANSWER_TOOL_CALLS = ERAS.flatMap((era) => {
  const message = createToolCall('answer_question', RENEW, era)
  return [
    (api: RunningResource) => sendMessage(api.origin, '/api/mcp', message),
    (api: RunningResource) =>
      sendMessage(api.origin, '/mcp', message, { headers: { host: PUBLIC_MCP_HOST } }),
  ]
})

function expectHelpInToolError(
  response: HttpResponse,
  { code, retryAfter }: { code: string; retryAfter: number },
): void {
  expect(response.status).toBe(200)
  const { isError, content } = parseMessage(response).result
  expect(isError).toBe(true)
  expect(content[0].text).toContain('\nGet help:\n- If you are in danger now: 911\n')
  // A model sees no member and no header of these names.
  expect(content[0].text).not.toMatch(/findHelp|Retry-After/)
  expect(content[0].text).toContain('https://www.justice.gov/')
  expect(content[0].text.endsWith(`\nTry again in ${retryAfter} seconds. (${code})`)).toBe(true)
}

test('a disabled trigger causes no hand-off and is not listed, until it is enabled again', async () => {
  const readOutcome = async (api: RunningResource) => (await postQuestion(api, ARREST)).json()['outcome']
  const readVersion = async (api: RunningResource) =>
    (await postQuestion(api, ARREST)).json()['answersVersion']
  const isListed = async (api: RunningResource) =>
    (await read(api, '/api/triggers')).body.includes('"criminal-history"')
  const versionBefore = await readVersion(firstApi)
  await expectOnBoth(readOutcome, 'hand_off')
  expect((await run('triggers', 'disable', 'criminal-history')).code).toBe(0)
  await expectOnBoth(readOutcome, 'information')
  await expectOnBoth(isListed, false)
  expect(await readVersion(firstApi)).not.toBe(versionBefore)
  expect(await readVersion(firstApi)).toBe(await readVersion(secondApi))
  expect(await readAnswersHealth(firstApi)).toMatchObject({
    status: 'ok',
    disabledTriggers: ['criminal-history'],
  })
  expect((await run('triggers', 'list')).out).toMatch(/^criminal-history {2}normal, not reviewed, disabled$/m)
  const fact = { ...RENEW, facts: { 'criminal-history': true } }
  expect((await postQuestion(firstApi, fact)).json()['outcome']).toBe('information')

  expect((await run('triggers', 'enable', 'criminal-history')).code).toBe(0)
  await expectOnBoth(readOutcome, 'hand_off')
  await expectOnBoth(isListed, true)
  await expectOnBoth(readVersion, versionBefore)
  expect(await readLastAuditLines()).toEqual([
    'triggers disable criminal-history',
    'triggers enable criminal-history',
  ])
})

test('a withdrawn section is in no answer, guide or search result, until it is restored', async () => {
  const { passages } = Answer.parse((await postQuestion(firstApi, RENEW)).json())
  const { id = '', text = '' } = passages[0] ?? {}
  expect(id).toMatch(/^renew-green-card#/)
  const [sentence = ''] = text.split('\n')
  const paths = ['/api/guides/renew-green-card', '/guides/renew-green-card', '/api/guides?q=renew+green+card']
  const isWithdrawn = async (api: RunningResource) => {
    const guide = (await read(api, '/api/guides/renew-green-card')).json()['body']
    return String(guide).includes('We took the text of this section out')
  }
  await expectOnBoth(isWithdrawn, false)
  expect((await run('guides', 'withdraw', id, '--reason', 'the rule changed')).code).toBe(0)
  await expectOnBoth(isWithdrawn, true)
  for (const api of [firstApi, secondApi]) {
    const { passages: otherPassages } = Answer.parse((await postQuestion(api, RENEW)).json())
    expect(otherPassages.map((passage) => passage.id)).not.toContain(id)
    for (const path of paths) expect((await read(api, path)).body).not.toContain(sentence)
  }
  expect(await readAnswersHealth(secondApi)).toMatchObject({ withdrawnSections: [id] })
  expect((await run('answers', 'list')).out).toMatch(
    new RegExp(`^section ${id} {2}since .*: the rule changed$`),
  )

  expect((await run('guides', 'restore', id)).code).toBe(0)
  await expectOnBoth(isWithdrawn, false)
  expect(Answer.parse((await postQuestion(secondApi, RENEW)).json()).passages[0]?.id).toBe(id)
  expect(await readLastAuditLines()).toEqual([
    `guides withdraw ${id}: the rule changed`,
    `guides restore ${id}`,
  ])
})

test('a retired guide is in no answer', async () => {
  await using api = await startResource()
  const settings = { RESOURCE_DATABASE_URL: api.databaseUrl }
  await runResource(['guides', 'publish'], settings)
  await runResource(
    ['guides', 'retire', 'renew-green-card', '--successor', 'replace-lost-green-card', '--yes'],
    settings,
  )
  const citesRetiredGuide = async () =>
    Answer.parse((await postQuestion(api, RENEW)).json()).passages.some(
      ({ guide }) => guide === 'renew-green-card',
    )
  await expect.poll(citesRetiredGuide, POLL_OPTIONS).toBe(false)
})

test('an attorney’s review applies to one version of a trigger, and the app cannot change or delete it', async () => {
  const findListedTrigger = async () => {
    const { triggers } = JSON.parse((await run('triggers', 'list', '--json')).out)
    return triggers.find(({ id }: { id: string }) => id === 'smuggling')
  }
  const { version, ...unreviewed } = await findListedTrigger()
  expect(unreviewed).toMatchObject({ reviewed: null, reviewedBy: null })
  expect(await run('triggers', 'review', 'smuggling', '--by', 'A. Lee')).toMatchObject({
    code: 0,
    out: expect.stringContaining(`Recorded that A. Lee reviewed version ${version} of smuggling on `),
  })
  await firstApi.db.query(
    `insert into trigger_reviews (trigger_id, version, reviewed_on, reviewed_by)
    values ('smuggling', 'an earlier version', '2026-01-02', 'B. Roe')`,
  )
  const today = new Date().toISOString().slice(0, 10)
  expect(await findListedTrigger()).toMatchObject({ reviewed: today, reviewedBy: 'A. Lee', version })
  await using appPool = openPool(firstApi.databaseUrl, { max: 1 })
  // 42501 is `insufficient_privilege`.
  for (const statement of ['delete from trigger_reviews', "update trigger_reviews set reviewed_by = 'C'"])
    await expect(appPool.query(statement)).rejects.toMatchObject({ code: '42501' })
})

describe('a mistaken command is refused with a message, and changes nothing:', () => {
  test.for([
    [['answers', 'resume'], 'Answers are not paused. Nothing was changed.'],
    [['triggers', 'disable', 'no-such-trigger'], 'No trigger has the id no-such-trigger.'],
    [['triggers', 'enable', 'criminal-history'], 'criminal-history is not disabled.'],
    [['triggers', 'review', 'no-such-trigger', '--by', 'A. Lee'], 'No trigger has the id no-such-trigger.'],
    [['triggers', 'review', 'criminal-history', '--by', ' '], '--by must be a name'],
    [['guides', 'withdraw', 'nothing#here', '--reason', 'x'], 'nothing is not published.'],
    [
      ['guides', 'withdraw', 'work-permit', '--reason', 'x'],
      'There is no section work-permit. The sections of work-permit are: work-permit#',
    ],
    [['guides', 'withdraw', 'work-permit#intro', '--reason', ' '], '--reason must have'],
    [['guides', 'restore', 'work-permit#intro'], 'work-permit is not withdrawn.'],
  ] as const)('%j', async ([args, message]) => {
    const { code, out, errors } = await run(...args)
    expect([code, out]).toEqual([1, ''])
    expect(errors).toContain(message)
    expect((await run('answers', 'list')).out).toBe('Nothing is turned off.')
    expect((await run('triggers', 'list')).out).not.toMatch(/criminal-history.*, reviewed/)
  })
})

test('the API answers from memory with the last known switches while the tables cannot be read', async () => {
  await using api = await startResource()
  await runResource(['triggers', 'disable', 'criminal-history'], { RESOURCE_DATABASE_URL: api.databaseUrl })
  await expect
    .poll(async () => (await postQuestion(api, ARREST)).json()['outcome'], POLL_OPTIONS)
    .toBe('information')
  // Without these tables, reading the guides and switches fails.
  await api.db.query('alter table guides rename to elsewhere')
  await api.db.query('alter table answer_switches rename to elsewhere_too')
  await expect.poll(() => api.logLines.join('\n'), POLL_OPTIONS).toContain('those in memory are served')
  expect((await postQuestion(api, ARREST)).json()['outcome']).toBe('information')
})

test('an instance that has never read the switches responds 503 with help', async () => {
  await using api = await startResource({ env: { RESOURCE_DATABASE_URL: UNREACHABLE_DATABASE } })
  const refusal = await postQuestion(api, RENEW)
  const { findHelp, ...problem } = refusal.json()
  expect(problem).toMatchObject({ status: 503, code: 'answers-unavailable' })
  expect(findHelp).toContainEqual(expect.objectContaining({ phone: '911' }))
  expectHelpInToolError(await sendMessage(api.origin, '/api/mcp', createToolCall('answer_question', RENEW)), {
    code: 'answers-unavailable',
    retryAfter: 2,
  })
  expect(await readAnswersHealth(api)).toMatchObject({ status: 'unavailable' })
  expect((await read(api, '/api/triggers')).status).toBe(200)
  expectProblem(await postQuestion(api, {}), { status: 400, code: 'invalid-request' })
})
