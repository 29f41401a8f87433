import { randomUUID } from 'node:crypto'
import { createServiceUrls } from '@plainpath/metadata'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newPerson } from '../hosts/person.ts'
import { SIGN_IN_CLIENTS } from '../hosts/sign-in-clients.ts'
import { type SystemWithMail, startSystemWithMail } from '../start-system-with-mail.ts'

/*
 * Client libraries with their own authorization code flows. The person's browser runs no scripts. `e2e/system/chat-hosts.test.ts` tests
 * the same in a browser, and with several instances.
 */

const resources = new AsyncDisposableStack()
let system: SystemWithMail
beforeAll(async () => {
  system = resources.use(await startSystemWithMail())
})
afterAll(() => resources.disposeAsync())

test.for(SIGN_IN_CLIENTS)(
  '$name signs a person in, asks, sends a message, refreshes, withdraws the message, and loses access when the person revokes it',
  async ({ connect }) => {
    using person = newPerson(system)
    await using client = await connect(createServiceUrls(system.origin).signedInMcp, {
      redirectUri: 'http://localhost:8787/oauth/callback',
      signIn: (url) => person.signIn(url),
    })
    expect(await client.listTools()).toContain('send_contact_message')
    const answer = await client.call('answer_question', { question: 'When do I renew my green card?' })
    expect(answer.structuredContent).toMatchObject({ outcome: expect.any(String) })
    const message = `When do I renew my work permit? ${randomUUID()}`
    const sentMessage = await client.call('send_contact_message', { topic: 'question', message })
    const { id } = sentMessage.structuredContent as { id: string }
    const firstToken = client.getAccessToken()
    await client.refresh()
    expect(client.getAccessToken()).not.toBe(firstToken)
    expect((await client.call('withdraw_contact_message', { id })).isError).toBeFalsy()
    expect((await client.call('get_contact_message', { id })).structuredContent).toMatchObject({
      status: 'erased',
    })
    await person.revokeAllAccess()
    await expect(client.call('list_guides', {})).rejects.toThrow(/not valid|challenge/)
  },
)
