import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { type HttpResponse, posting, sendRequest } from './send-request.ts'
import { type RunningResource, type StartOptions, startResource } from './start-resource.ts'

export const STAFF_INBOX = 'desk@plainpath.example'

export interface ContactApi extends AsyncDisposable {
  readonly api: RunningResource & { readonly keys: string }
  readonly server: MailServer
  /** A token of somebody who verified this address. */
  tokenOf(email: string, registrationId: string, change?: Record<string, unknown>): string
  send(token: string | undefined, body: unknown, headers?: Record<string, string>): Promise<HttpResponse>
  /** The stored rows of the table, the mails and the jobs. */
  kept(): Promise<number>
  becomes(id: unknown, state: string): Promise<void>
}

let written = 0

/** A message that nobody wrote before. */
export const newMessage = () => ({ topic: 'question', message: `When do I renew? ${(written += 1)}` })

/** The API and the mail server of staff. Messages are not held unless the environment says so. */
export async function startContact(options: StartOptions = {}): Promise<ContactApi> {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await startMailServer())
  const api = opening.use(
    await startResource({
      ...options,
      env: {
        RESOURCE_SMTP_URL: server.url,
        RESOURCE_DESK_ADDRESS: STAFF_INBOX,
        RESOURCE_CONTACT_HOLD: '0',
        ...options.env,
      },
    }),
  )
  const resources = opening.move()
  const count = async (sql: string) => (await api.db.query<{ kept: number }>(sql)).rows[0]?.kept ?? -1
  return {
    api,
    server,
    tokenOf: (email, registrationId, change) =>
      api.auth.issue({
        scope: 'guides:read contact:write',
        identity_type: 'verified_email',
        registration_id: registrationId,
        email,
        ...change,
      }),
    send: (token, body, headers) =>
      sendRequest(api.origin, {
        path: '/api/contact',
        ...posting(body, { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers }),
      }),
    kept: () =>
      count('select (select count(*) from contact_messages) + (select count(*) from mails) as kept'),
    async becomes(id, state) {
      const end = performance.now() + 40_000
      for (;;) {
        const { rows } = await api.db.query<{ state: string }>(
          'select state, pg_sleep(0.02) from contact_messages where id = $1',
          [id],
        )
        if (rows[0]?.state === state) return
        if (performance.now() > end) throw new Error(`the message is ${rows[0]?.state}, not ${state}`)
      }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
