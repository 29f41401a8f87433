import { randomUUID } from 'node:crypto'
import { createServiceUrls } from '@plainpath/metadata'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPerson } from '../hosts/person.ts'
import { SIGN_IN_CLIENTS } from '../hosts/sign-in-clients.ts'
import { type SystemWithMail, startSystemWithMail } from '../start-system-with-mail.ts'

/*
 * Tests client libraries that implement the authorization code flow themselves. The person uses a simulated browser without
 * scripts. `e2e/system/chat-hosts.test.ts` repeats this in Chromium, with several instances.
 */

const resources = new AsyncDisposableStack()
let system: SystemWithMail
beforeAll(async () => {
  system = resources.use(await startSystemWithMail())
})
afterAll(() => resources.disposeAsync())

test.for(SIGN_IN_CLIENTS)(
  '$name signs a person in, asks a question, sends a message, refreshes its tokens, withdraws the message, and loses access when the person revokes that access',
  async ({ connect }) => {
    using person = createPerson(system)
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
    // After the 401, the MCP SDKs refresh, and report that the refresh token is not valid. `oauth4webapi` reports the challenge.
    await expect(client.call('list_guides', {})).rejects.toThrow(/not valid|challenge/)
  },
)
