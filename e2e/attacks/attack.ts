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
const TWIN_EVERY = 4
/** The longest time until a response on a busy machine. */
const SOON_MS = 4_000
const AT_ONCE = 8
let refusals = 0
/** The stored rows after the last refusal, and the number of requests until then. */
const lastCounts = new WeakMap<Targets, { readonly stored: Counts; readonly requests: number }>()

/**
 * Sends a request and checks the response against the invariants: well-formed, in time, in the format of its path; nothing
 * stored when it was refused. From time to time it also sends a request that must succeed.
 */
export async function attack(field: Battlefield, target: Target, sent: HttpRequest): Promise<HttpResponse> {
  const { stored, targets } = field
  const last = lastCounts.get(targets)
  // No request has been sent since that count, so it is still right.
  const before = last?.requests === targets.requestCount() ? last.stored : await stored.count()
  const response = await sendAndCheck(field, target, sent)
  if (response.status < 400) return response
  const after = await stored.count()
  lastCounts.set(targets, { stored: after, requests: targets.requestCount() })
  await withRequestInError(sent, async () => expect(after).toEqual(before))
  refusals += 1
  if (refusals % TWIN_EVERY === 0) await withRequestInError(sent, () => expectTwin(target))
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
  all: readonly Expected[],
): Promise<void> {
  const send = async ({ sent, statuses }: Expected) => {
    const { status, text } = await sendAndCheck(field, target, sent)
    await withRequestInError(sent, async () => expect(statuses, text.slice(0, 500)).toContain(status))
  }
  const inBatches = async (some: readonly Expected[]) => {
    for (let at = 0; at < some.length; at += AT_ONCE)
      await Promise.all(some.slice(at, at + AT_ONCE).map(send))
  }
  const refused = all.filter(({ statuses }) => statuses.every((status) => status >= 400))
  const before = await field.stored.count()
  await inBatches(refused)
  expect(await field.stored.count()).toEqual(before)
  await expectTwin(target)
  await inBatches(all.filter((one) => !refused.includes(one)))
}

/** The error formats by tag; errors of other operations are problems (RFC 9457) only. */
const FORMS: { readonly [tag: string]: 'agent' | 'oauth' } = { Agents: 'agent', OAuth: 'oauth' }

async function sendAndCheck(
  { system, targets }: Battlefield,
  target: Target,
  sent: HttpRequest,
): Promise<HttpResponse> {
  return withRequestInError(sent, async () => {
    const response = await target.sender.send(sent)
    expectSafeResponse(response, {
      origin: system.origin,
      ...(sent.path === target.operation.path && { form: FORMS[target.operation.tag] ?? 'problem' }),
      confidential: [targets.agent.client_secret, targets.token],
    })
    expect(response.ms).toBeLessThan(SOON_MS)
    return response
  })
}

async function withRequestInError<T>(
  { method, path, headers, body }: HttpRequest,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
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
