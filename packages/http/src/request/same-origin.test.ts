import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Service, startService } from '../../test/start-service.ts'
import { defineRoute } from '../routing/route.ts'

const EVIL = 'https://evil.example'
/** The forms that the handler received since the last call of `sendForm`. */
let receivedForms: unknown[] = []
let service: Service

beforeAll(async () => {
  const createFormRoute = (path: `/${string}`, form: true | 'unguessable') =>
    defineRoute({
      method: 'post',
      path,
      operationId: path.slice(1),
      summary: 'Takes a form',
      access: 'open',
      limits: {},
      form,
      request: { body: z.object({}).catchall(z.unknown()) },
      responses: { 200: z.object({}) },
      handle({ body }) {
        receivedForms.push(body)
        return { status: 200, body: {} }
      },
    })
  const routes = [createFormRoute('/join', true), createFormRoute('/secret', 'unguessable')]
  service = await startService({ routes })
})
afterAll(() => service[Symbol.asyncDispose]())

async function sendForm(headers: Record<string, string>, body = 'email=ana%40example.org', path = '/join') {
  receivedForms = []
  const type = 'application/x-www-form-urlencoded'
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': type, ...headers },
    body,
  })
  return { status: response.status, problem: (await response.json()) as { code?: string } }
}

test.for<Record<string, string>>([
  { 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'same-origin', origin: 'null' },
  { 'sec-fetch-site': 'none' },
  {},
])('accepts a form with the headers of our own page: %j', async (headers) => {
  expect((await sendForm(headers)).status).toBe(200)
  expect(receivedForms).toEqual([{ email: 'ana@example.org' }])
})

test('accepts a form of a browser that sends Origin and no Sec-Fetch-Site', async () => {
  expect((await sendForm({ origin: service.url })).status).toBe(200)
})

test.for<Record<string, string>>([
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'cross-site', origin: EVIL },
  { 'sec-fetch-site': 'something-new' },
  { origin: EVIL },
  { origin: 'null' },
  { origin: 'nonsense' },
])('refuses a form of another page before the handler is called: %j', async (headers) => {
  const { status, problem } = await sendForm(headers)
  expect({ status, code: problem.code }).toEqual({ status: 403, code: 'cross-site-request' })
  expect(receivedForms).toEqual([])
})

test.for<[Record<string, string>, number]>([
  [{ origin: 'null' }, 200],
  [{ origin: EVIL }, 403],
  [{ origin: 'null', 'sec-fetch-site': 'cross-site' }, 403],
])(
  'a form with a secret, whose page has no referrer, may send Origin: null: %j gets %i',
  async ([headers, status]) => {
    expect((await sendForm(headers, 'secret=x', '/secret')).status).toBe(status)
  },
)

test('retains both values of a duplicate field, and refuses a body that is not a form', async () => {
  await sendForm({}, 'a=1&a=2&b=3')
  expect(receivedForms).toEqual([{ a: ['1', '2'], b: '3' }])
  expect((await sendForm({ 'content-type': 'application/json' }, '{}')).status).toBe(415)
})
