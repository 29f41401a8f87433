import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Service, startService } from '../../test/start-service.ts'
import { defineRoute } from '../routing/route.ts'

const EVIL = 'https://evil.example'
let taken: unknown[] = []
let service: Service

beforeAll(async () => {
  const takesForm = (path: `/${string}`, form: true | 'unguessable') =>
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
        taken.push(body)
        return { status: 200, body: {} }
      },
    })
  const routes = [takesForm('/join', true), takesForm('/secret', 'unguessable')]
  service = await startService({ routes })
})
afterAll(() => service[Symbol.asyncDispose]())

async function send(headers: Record<string, string>, body = 'email=ana%40example.org', path = '/join') {
  taken = []
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
])('accepts a form of our own page: %j', async (headers) => {
  expect((await send(headers)).status).toBe(200)
  expect(taken).toEqual([{ email: 'ana@example.org' }])
})

test('accepts a form of a browser that sends only its origin', async () => {
  expect((await send({ origin: service.url })).status).toBe(200)
})

test.for<Record<string, string>>([
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'cross-site', origin: EVIL },
  { 'sec-fetch-site': 'something-new' },
  { origin: EVIL },
  { origin: 'null' },
  { origin: 'nonsense' },
])('refuses a form of another page before it is read: %j', async (headers) => {
  const { status, problem } = await send(headers)
  expect({ status, code: problem.code }).toEqual({ status: 403, code: 'cross-site-request' })
  expect(taken).toEqual([])
})

test.for<[Record<string, string>, number]>([
  [{ origin: 'null' }, 200],
  [{ origin: EVIL }, 403],
  [{ origin: 'null', 'sec-fetch-site': 'cross-site' }, 403],
])('responds to a form with a secret from a page without referrer: %j is %i', async ([headers, status]) => {
  expect((await send(headers, 'secret=x', '/secret')).status).toBe(status)
})

test('keeps both values of a duplicate field, and refuses a body that is not a form', async () => {
  await send({}, 'a=1&a=2&b=3')
  expect(taken).toEqual([{ a: ['1', '2'], b: '3' }])
  expect((await send({ 'content-type': 'application/json' }, '{}')).status).toBe(415)
})
