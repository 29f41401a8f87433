import { JWT_BEARER_GRANT } from '@plainpath/metadata'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { asApi, requestToken, SIGNED } from './agent-client.ts'
import {
  type Attempt,
  begin,
  type ClaimsUnderTest,
  claim,
  confirmed,
  newAddress,
  sayNo,
  startClaims,
} from './claim-client.ts'
import { getAssertion } from './claim-mailbox.ts'
import { expectNothingInClear } from './expect-nothing-in-clear.ts'
import { send } from './send.ts'

vi.setConfig({ testTimeout: 60_000 })

let under: ClaimsUnderTest
beforeAll(async () => {
  under = await startClaims()
})
afterAll(async () => {
  await expectNothingInClear(under.auth)
  await under[Symbol.asyncDispose]()
})

/** The address that introspection returns for a token of the agent. */
async function lentAddress({ agent }: Attempt): Promise<unknown> {
  const { auth } = under
  const assertion = await getAssertion(auth, agent)
  const response = await requestToken(auth, agent, { grant_type: JWT_BEARER_GRANT, assertion })
  expect(response.status, response.text).toBe(200)
  const { access_token: token } = JSON.parse(response.text) as { access_token: string }
  auth.confidential.add(token)
  const introspected = await send(auth.internalUrl, {
    method: 'POST',
    path: '/oauth/introspect',
    headers: { ...SIGNED, ...asApi(auth) },
    body: new URLSearchParams({ token, claims: 'email' }),
  })
  return decodeJwt<{ token_introspection: { email?: string } }>(introspected.text).token_introspection.email
}

test('confirms one address only: another spelling of the same mailbox is not confirmed with it', async () => {
  const plain = newAddress()
  const tagged = plain.replace('@', '+tag@')
  const first = await confirmed(under, { email: tagged })
  expect(await lentAddress(first)).toBe(tagged)
  const other = await begin(under, { agent: first.agent, email: plain })
  expect(await lentAddress(first)).toBe(tagged)
  await confirmed(under, { agent: other.agent, email: plain })
  expect(await lentAddress(first)).toBe(plain)
})

test('after a person declines, the agent reaches the address that confirmed it, in any spelling, and no other address of that mailbox', async () => {
  const plain = newAddress()
  const tagged = plain.replace('@', '+tag@')
  const known = await confirmed(under, { email: tagged })
  expect((await sayNo(under.auth, await begin(under, { email: plain }))).status).toBe(200)
  await begin(under, { agent: known.agent, email: tagged.replace('canary', 'Canary') })
  const received = under.mail.received.length
  const response = await claim(under.auth, known.agent, { email: plain })
  expect(response.status, response.text).toBe(202)
  const { claim_attempt_id: id } = JSON.parse(response.text) as { claim_attempt_id: string }
  const itsMail = async () =>
    (await under.stores.db.query('select state from mails where about = $1', [id])).rows
  await expect.poll(itsMail).toEqual([{ state: 'dropped' }])
  expect(under.mail.received).toHaveLength(received)
  expect(await lentAddress(known)).toBe(tagged)
})
