import { JWT_BEARER_GRANT_TYPE } from '@plainpath/metadata'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { getAssertion } from './add-verification.ts'
import { ACCEPT_SIGNED, apiAuthHeader, requestToken } from './agent-client.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { send } from './send.ts'
import {
  type Attempt,
  beginVerification,
  confirmAgent,
  createAddress,
  requestVerification,
  sayNo,
  startVerificationSystem,
  type VerificationSystem,
} from './verification-client.ts'

let system: VerificationSystem
beforeAll(async () => {
  system = await startVerificationSystem()
})
afterAll(async () => {
  await expectNoConfidentialValues(system.auth)
  await system[Symbol.asyncDispose]()
})

/** Gets a token for the agent, introspects it with `claims=email`, and returns the address in the response. */
async function introspectAddress({ agent }: Attempt): Promise<unknown> {
  const { auth } = system
  const assertion = await getAssertion(auth, agent)
  const response = await requestToken(auth, agent, { grant_type: JWT_BEARER_GRANT_TYPE, assertion })
  expect(response.status, response.text).toBe(200)
  const { access_token: token } = JSON.parse(response.text) as { access_token: string }
  auth.confidential.add(token)
  const introspection = await send(auth.internalUrl, {
    method: 'POST',
    path: '/oauth/introspect',
    headers: { ...ACCEPT_SIGNED, ...apiAuthHeader(auth) },
    body: new URLSearchParams({ token, claims: 'email' }),
  })
  return decodeJwt<{ token_introspection: { email?: string } }>(introspection.text).token_introspection.email
}

test('introspection returns the spelling of the address that the person confirmed last', async () => {
  const plainAddress = createAddress()
  const taggedAddress = plainAddress.replace('@', '+tag@')
  const firstAttempt = await confirmAgent(system, { email: taggedAddress })
  expect(await introspectAddress(firstAttempt)).toBe(taggedAddress)
  await beginVerification(system, { agent: firstAttempt.agent, email: plainAddress })
  expect(await introspectAddress(firstAttempt)).toBe(taggedAddress)
  await confirmAgent(system, { agent: firstAttempt.agent, email: plainAddress })
  expect(await introspectAddress(firstAttempt)).toBe(plainAddress)
})

test('after a person declines, an agent can mail the address that confirmed it, whatever its capitals, but no other address of that mailbox', async () => {
  // The mailbox of an address ignores the plus-tag and the capitals, so all these addresses have the same mailbox.
  const plainAddress = createAddress()
  const taggedAddress = plainAddress.replace('@', '+tag@')
  const confirmedAttempt = await confirmAgent(system, { email: taggedAddress })
  expect((await sayNo(system.auth, await beginVerification(system, { email: plainAddress }))).status).toBe(
    200,
  )
  await beginVerification(system, {
    agent: confirmedAttempt.agent,
    email: taggedAddress.replace('canary', 'Canary'),
  })
  // The response does not reveal that the mailbox is blocked. Only the mail is dropped.
  const receivedBefore = system.mailServer.received.length
  const response = await requestVerification(system.auth, confirmedAttempt.agent, { email: plainAddress })
  expect(response.status, response.text).toBe(202)
  const { claim_attempt_id: id } = JSON.parse(response.text) as { claim_attempt_id: string }
  const findMails = async () =>
    (await system.testbed.db.query('select state from mails where about = $1', [id])).rows
  await expect.poll(findMails).toEqual([{ state: 'dropped' }])
  expect(system.mailServer.received).toHaveLength(receivedBefore)
  expect(await introspectAddress(confirmedAttempt)).toBe(taggedAddress)
})
