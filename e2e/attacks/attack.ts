import { expectSafeResponse } from '@plainpath/http/testing'
import { expect } from 'vitest'
import type { System } from '../in-process/start-system.ts'
import type { HttpRequest, HttpResponse } from '../send.ts'
import type { Counts, StoredCounts } from '../stored-counts.ts'
import type { Target, Targets } from './target.ts'

/** The system under attack, its operations, and the counts of its stored rows. The attacks of a test file share one. */
export interface AttackContext {
  readonly system: System
  readonly targets: Targets
  readonly stored: StoredCounts
}

/** After this many refusals, a valid request is sent, which must succeed. */
const REFUSALS_PER_VALID_REQUEST = 4
/** The maximum time until a response on a busy machine. */
const MAX_RESPONSE_MS = 4_000
const CONCURRENCY = 8
let refusalCount = 0
/** The counts of stored rows after the last refusal, and the number of requests that were sent until then. */
const lastCounts = new WeakMap<Targets, { readonly stored: Counts; readonly requests: number }>()

/**
 * Sends a request and checks the response: it must be well-formed, in time and in the format of its path, and a refused request
 * must store nothing. After every fourth refusal, this also sends a request that must succeed.
 */
export async function attack(
  context: AttackContext,
  target: Target,
  request: HttpRequest,
): Promise<HttpResponse> {
  const { stored, targets } = context
  const lastCount = lastCounts.get(targets)
  // The last count is still valid if no request has been sent since.
  const countsBefore =
    lastCount?.requests === targets.countRequests() ? lastCount.stored : await stored.count()
  const response = await sendAndCheck(context, target, request)
  if (response.status < 400) return response
  const countsAfter = await stored.count()
  lastCounts.set(targets, { stored: countsAfter, requests: targets.countRequests() })
  await withRequestInError(request, async () => expect(countsAfter).toEqual(countsBefore))
  refusalCount += 1
  if (refusalCount % REFUSALS_PER_VALID_REQUEST === 0)
    await withRequestInError(request, () => expectValidRequestToSucceed(target))
  return response
}

/** A request, and the statuses that its response may have. */
export interface AttackCase {
  readonly sent: HttpRequest
  readonly statuses: readonly number[]
}

/**
 * Sends many requests whose expected statuses are known, several of them simultaneously, and checks the responses. The
 * refused requests must store nothing.
 */
export async function attackWithAll(
  context: AttackContext,
  target: Target,
  attackCases: readonly AttackCase[],
): Promise<void> {
  const send = async ({ sent, statuses }: AttackCase) => {
    const { status, text } = await sendAndCheck(context, target, sent)
    await withRequestInError(sent, async () => expect(statuses, text.slice(0, 500)).toContain(status))
  }
  const sendInBatches = async (batch: readonly AttackCase[]) => {
    for (let start = 0; start < batch.length; start += CONCURRENCY)
      await Promise.all(batch.slice(start, start + CONCURRENCY).map(send))
  }
  // The refused requests are sent separately, because the others may store something.
  const refusedRequests = attackCases.filter(({ statuses }) => statuses.every((status) => status >= 400))
  const countsBefore = await context.stored.count()
  await sendInBatches(refusedRequests)
  expect(await context.stored.count()).toEqual(countsBefore)
  await expectValidRequestToSucceed(target)
  await sendInBatches(attackCases.filter((each) => !refusedRequests.includes(each)))
}

/** The error formats by tag; errors of other operations are problems (RFC 9457) only. */
const ERROR_FORMATS: { readonly [tag: string]: 'agent' | 'oauth' } = { Agents: 'agent', OAuth: 'oauth' }

async function sendAndCheck(
  { system, targets }: AttackContext,
  target: Target,
  sent: HttpRequest,
): Promise<HttpResponse> {
  return withRequestInError(sent, async () => {
    const response = await target.sender.send(sent)
    expectSafeResponse(response, {
      origin: system.origin,
      ...(sent.path === target.operation.path && {
        errorFormat: ERROR_FORMATS[target.operation.tag] ?? 'problem',
      }),
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

/** Checks that a valid request succeeds. Otherwise refusals would prove nothing. */
async function expectValidRequestToSucceed(target: Target): Promise<void> {
  const response = await target.sender.send(await target.createValidRequest())
  expect(target.acceptedStatuses, response.text).toContain(response.status)
}
