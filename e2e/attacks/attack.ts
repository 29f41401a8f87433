import { expectSafeResponse } from '@plainpath/http/testing'
import { expect } from 'vitest'
import type { System } from '../in-process/start-system.ts'
import type { HttpRequest, HttpResponse } from '../send.ts'
import type { Counts, StoredCounts } from '../stored-counts.ts'
import type { Target, Targets } from './target.ts'

export interface Battlefield {
  readonly system: System
  readonly targets: Targets
  readonly stored: StoredCounts
}

/** The number of refusals between two requests that must succeed. */
const REFUSALS_PER_TWIN = 4
/** The maximum time until a response on a busy machine. */
const MAX_RESPONSE_MS = 4_000
const CONCURRENCY = 8
let refusals = 0
/** The stored rows after the last refusal, and the number of requests until then. */
const lastCounts = new WeakMap<Targets, { readonly stored: Counts; readonly requests: number }>()

/**
 * Sends a request and checks the response: it must be well-formed, in time and in the format of its path, and a refused request
 * must store nothing. From time to time, this also sends a request that must succeed.
 */
export async function attack(field: Battlefield, target: Target, sent: HttpRequest): Promise<HttpResponse> {
  const { stored, targets } = field
  const lastCount = lastCounts.get(targets)
  // The last count is still valid if no request has been sent since.
  const countsBefore =
    lastCount?.requests === targets.requestCount() ? lastCount.stored : await stored.count()
  const response = await sendAndCheck(field, target, sent)
  if (response.status < 400) return response
  const countsAfter = await stored.count()
  lastCounts.set(targets, { stored: countsAfter, requests: targets.requestCount() })
  await withRequestInError(sent, async () => expect(countsAfter).toEqual(countsBefore))
  refusals += 1
  if (refusals % REFUSALS_PER_TWIN === 0) await withRequestInError(sent, () => expectTwin(target))
  return response
}

export interface Expected {
  readonly sent: HttpRequest
  readonly statuses: readonly number[]
}

/** Attacks with many requests, several at once, whose expected outcome is known. */
export async function attackWithAll(
  field: Battlefield,
  target: Target,
  expectations: readonly Expected[],
): Promise<void> {
  const send = async ({ sent, statuses }: Expected) => {
    const { status, text } = await sendAndCheck(field, target, sent)
    await withRequestInError(sent, async () => expect(statuses, text.slice(0, 500)).toContain(status))
  }
  const sendInBatches = async (batch: readonly Expected[]) => {
    for (let start = 0; start < batch.length; start += CONCURRENCY)
      await Promise.all(batch.slice(start, start + CONCURRENCY).map(send))
  }
  const refusedRequests = expectations.filter(({ statuses }) => statuses.every((status) => status >= 400))
  const countsBefore = await field.stored.count()
  await sendInBatches(refusedRequests)
  expect(await field.stored.count()).toEqual(countsBefore)
  await expectTwin(target)
  await sendInBatches(expectations.filter((each) => !refusedRequests.includes(each)))
}

/** The error formats by tag; errors of other operations are problems (RFC 9457) only. */
const ERROR_FORMATS: { readonly [tag: string]: 'agent' | 'oauth' } = { Agents: 'agent', OAuth: 'oauth' }

async function sendAndCheck(
  { system, targets }: Battlefield,
  target: Target,
  sent: HttpRequest,
): Promise<HttpResponse> {
  return withRequestInError(sent, async () => {
    const response = await target.sender.send(sent)
    expectSafeResponse(response, {
      origin: system.origin,
      ...(sent.path === target.operation.path && { form: ERROR_FORMATS[target.operation.tag] ?? 'problem' }),
      confidential: [targets.agent.client_secret, targets.token],
    })
    expect(response.ms).toBeLessThan(MAX_RESPONSE_MS)
    return response
  })
}

/** Runs an action. An error of the action is wrapped in one that quotes the request. */
async function withRequestInError<T>(
  { method, path, headers, body }: HttpRequest,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action()
  } catch (error) {
    const request = JSON.stringify({ method, path, headers, body: body?.toString() }).slice(0, 2_000)
    throw new Error(`after ${request}`, { cause: error })
  }
}

/** Expects a valid request to succeed, so that the refusal had no other reason. */
async function expectTwin(target: Target): Promise<void> {
  const response = await target.sender.send(await target.valid())
  expect(target.accepted, response.text).toContain(response.status)
}
