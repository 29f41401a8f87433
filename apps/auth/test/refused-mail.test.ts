import { DAY_MS, HOUR_MS } from '@plainpath/domain'
import { expect, test, vi } from 'vitest'
import { asAgent, type Registered, register } from './agent-client.ts'
import { type ClaimsUnderTest, claim, complete, endClaim, newAddress, startClaims } from './claim-client.ts'
import { runAuth } from './run-auth.ts'
import { type HttpResponse, send } from './send.ts'
import { ORIGIN } from './start-auth.ts'

vi.setConfig({ testTimeout: 60_000 })

const OTP = '123456'
const NO_MAILBOX = { at: 'rcpt', code: 550 } as const

interface Begun {
  readonly claim_attempt_id: string
  readonly registration_id: string
}

/** Begins a verification and waits until its mail is settled. */
async function beginSettled(
  under: ClaimsUnderTest,
  agent: Registered,
  state: 'sent' | 'failed',
): Promise<{ begun: Begun; response: HttpResponse }> {
  if (state === 'failed') under.mail.refuseNext(NO_MAILBOX)
  const response = await claim(under.auth, agent, { email: newAddress() })
  expect(response.status, response.text).toBe(202)
  const begun = JSON.parse(response.text) as Begun
  await expect.poll(() => stateOf(under, begun)).toBe(state)
  return { begun, response }
}

async function stateOf(under: ClaimsUnderTest, { claim_attempt_id: id }: Begun) {
  const { rows } = await under.stores.db.query<{ state: string }>(
    'select state from claim_attempts where id = $1',
    [id],
  )
  return rows[0]?.state
}

/** A response without what differs between any two: ids, times and the random words, with the length that they make. */
function bytesOf({ status, headers, text }: HttpResponse) {
  const headersToCompare = [...headers].filter(
    ([name]) => !['content-length', 'date', 'x-request-id'].includes(name),
  )
  return JSON.stringify({ status, headers: headersToCompare, text })
    .replaceAll(/\b(agt|cla|clm)_[\w-]{22}/g, '$1')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
    .replaceAll(/"client_id_issued_at\\":\d+/g, 'time')
    .replaceAll(/;t=\d+/g, ';t')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id')
    .replaceAll(/match_phrase\\":\\"[a-z ]+/g, 'words')
}

/** All that an agent can see of its attempts, from the first to long after the last. */
async function seenBy(state: 'sent' | 'failed') {
  await using under = await startClaims()
  const { auth, clock } = under
  const start = clock.now.getTime()
  const at = (ms: number) => void (clock.now = new Date(start + ms))
  const agent = await register(auth)
  const codes: string[] = []
  const bytes: string[] = []
  const recordResponse = async (sent: Promise<HttpResponse>) => {
    const response = await sent
    bytes.push(bytesOf(response))
    const { code } = response.text === '' ? {} : (JSON.parse(response.text) as { code?: string })
    codes.push(code ?? String(response.status))
  }
  const recordResponses = async (named?: Begun) => {
    await recordResponse(complete(auth, agent, { otp: OTP, claim_attempt_id: named?.claim_attempt_id }))
    await recordResponse(send(auth.url, { path: '/api/agent', headers: asAgent(agent) }))
  }

  const first = await beginSettled(under, agent, state)
  bytes.push(bytesOf(first.response))
  await recordResponses()
  await recordResponses(first.begun)
  at(HOUR_MS)
  const second = await beginSettled(under, agent, state)
  bytes.push(bytesOf(second.response))
  await recordResponses()
  await recordResponses(first.begun)
  await recordResponse(endClaim(auth, agent))
  await recordResponses()
  at(2 * HOUR_MS)
  const third = await beginSettled(under, agent, state)
  at(2 * HOUR_MS + DAY_MS - 1_000)
  await recordResponses()
  at(2 * HOUR_MS + DAY_MS)
  await recordResponses()
  const shown = await runAuth(
    ['claims', 'show', third.begun.registration_id, '--json'],
    await under.stores.settingsFor(ORIGIN),
    () => new Date(start + 2 * HOUR_MS),
  )
  return { codes, bytes, shown: JSON.parse(shown.printed) as { attempt: { state: string } } }
}

test('an agent cannot tell an address whose mail was refused from one whose person has not answered', async () => {
  const [taken, refused] = [await seenBy('sent'), await seenBy('failed')]
  expect(taken.codes).toEqual([
    ...['code-not-shown', '200', 'code-not-shown', '200'],
    ...['code-not-shown', '200', 'claim-superseded', '200'],
    ...['204', 'claim-superseded', '200'],
    ...['code-not-shown', '200', 'claim-expired', '200'],
  ])
  expect(refused.codes).toEqual(taken.codes)
  expect(refused.bytes).toEqual(taken.bytes)
  expect([taken.shown.attempt.state, refused.shown.attempt.state]).toEqual(['sent', 'failed'])
})
