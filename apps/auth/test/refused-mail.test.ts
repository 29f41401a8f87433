import { DAY_MS, HOUR_MS } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { agentAuthHeader, type RegisteredAgent, register } from './agent-client.ts'
import { runAuth } from './run-auth.ts'
import { type HttpResponse, send } from './send.ts'
import { ORIGIN } from './start-auth.ts'
import {
  completeVerification,
  createAddress,
  requestVerification,
  revokeVerification,
  startVerificationSystem,
  type VerificationSystem,
} from './verification-client.ts'

/** Any code. No page shows a code in this test, so none can be right. */
const OTP = '123456'
/** The mail server refuses the recipient permanently (550). */
const NO_MAILBOX = { at: 'rcpt', code: 550 } as const

interface BeginResponse {
  readonly claim_attempt_id: string
  readonly registration_id: string
}

/** Begins a verification, and waits until its mail has been sent or has failed, whichever `state` says. */
async function beginSettledVerification(
  system: VerificationSystem,
  agent: RegisteredAgent,
  state: 'sent' | 'failed',
): Promise<{ attempt: BeginResponse; response: HttpResponse }> {
  if (state === 'failed') system.mailServer.refuseNext(NO_MAILBOX)
  const response = await requestVerification(system.auth, agent, { email: createAddress() })
  expect(response.status, response.text).toBe(202)
  const attempt = JSON.parse(response.text) as BeginResponse
  await expect.poll(() => findState(system, attempt)).toBe(state)
  return { attempt, response }
}

async function findState(system: VerificationSystem, { claim_attempt_id: id }: BeginResponse) {
  const { rows } = await system.testbed.db.query<{ state: string }>(
    'select state from claim_attempts where id = $1',
    [id],
  )
  return rows[0]?.state
}

/** Formats a response without the parts that differ between any two responses: ids, times, random words, and the length. */
function normalizeResponse({ status, headers, text }: HttpResponse) {
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

/** Begins three attempts whose mails end in this state, and records the responses to the agent until the third expires. */
async function recordThreeAttempts(mailState: 'sent' | 'failed') {
  await using system = await startVerificationSystem()
  const { auth, clock } = system
  const startMs = clock.now.getTime()
  const setTime = (msFromStart: number) => {
    clock.now = new Date(startMs + msFromStart)
  }
  const agent = await register(auth)
  const codes: string[] = []
  const normalizedResponses: string[] = []
  const recordResponse = async (responsePromise: Promise<HttpResponse>) => {
    const response = await responsePromise
    normalizedResponses.push(normalizeResponse(response))
    const { code } = response.text === '' ? {} : (JSON.parse(response.text) as { code?: string })
    codes.push(code ?? String(response.status))
  }
  /** Records the responses to a code and to `GET /api/agent`. */
  const recordResponses = async (attempt?: BeginResponse) => {
    await recordResponse(
      completeVerification(auth, agent, { otp: OTP, claim_attempt_id: attempt?.claim_attempt_id }),
    )
    await recordResponse(send(auth.url, { path: '/api/agent', headers: agentAuthHeader(agent) }))
  }

  const firstVerification = await beginSettledVerification(system, agent, mailState)
  normalizedResponses.push(normalizeResponse(firstVerification.response))
  await recordResponses()
  await recordResponses(firstVerification.attempt)
  setTime(HOUR_MS)
  const secondVerification = await beginSettledVerification(system, agent, mailState)
  normalizedResponses.push(normalizeResponse(secondVerification.response))
  await recordResponses()
  await recordResponses(firstVerification.attempt)
  await recordResponse(revokeVerification(auth, agent))
  await recordResponses()
  setTime(2 * HOUR_MS)
  const thirdVerification = await beginSettledVerification(system, agent, mailState)
  setTime(2 * HOUR_MS + DAY_MS - 1_000)
  await recordResponses()
  setTime(2 * HOUR_MS + DAY_MS)
  await recordResponses()
  const showResult = await runAuth(
    ['claims', 'show', thirdVerification.attempt.registration_id, '--json'],
    await system.testbed.createSettings(ORIGIN),
    // At this time, the third attempt has not expired yet.
    () => new Date(startMs + 2 * HOUR_MS),
  )
  const { attempt } = JSON.parse(showResult.printed) as { attempt: { state: string } }
  return { codes, normalizedResponses, finalState: attempt.state }
}

test('an agent gets the same responses whether the mail was sent or its address was refused', async () => {
  const [sent, refused] = [await recordThreeAttempts('sent'), await recordThreeAttempts('failed')]
  const afterFirstAttempt = ['code-not-shown', '200', 'code-not-shown', '200']
  const afterSecondAttempt = ['code-not-shown', '200', 'claim-superseded', '200']
  const afterRevocation = ['204', 'claim-superseded', '200']
  const beforeAndAfterExpiry = ['code-not-shown', '200', 'claim-expired', '200']
  expect(sent.codes).toEqual([
    ...afterFirstAttempt,
    ...afterSecondAttempt,
    ...afterRevocation,
    ...beforeAndAfterExpiry,
  ])
  expect(refused.codes).toEqual(sent.codes)
  expect(refused.normalizedResponses).toEqual(sent.normalizedResponses)
  expect([sent.finalState, refused.finalState]).toEqual(['sent', 'failed'])
})
