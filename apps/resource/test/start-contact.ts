import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { createPost, type HttpResponse, sendRequest } from './send-request.ts'
import { type RunningResource, type StartOptions, startResource } from './start-resource.ts'

export const STAFF_INBOX = 'desk@plainpath.example'

export interface ContactApi extends AsyncDisposable {
  readonly api: RunningResource
  readonly mailServer: MailServer
  /**
   * Issues a token with which an agent sends messages for a person who verified this address.
   *
   * @param change replaces claims of the introspection
   */
  issueToken(email: string, registrationId: string, change?: Record<string, unknown>): string
  /** Sends a message to `POST /api/contact`, without a token if `token` is undefined. */
  send(token: string | undefined, body: unknown, headers?: Record<string, string>): Promise<HttpResponse>
  /** Counts the stored messages and mails. */
  countStoredRows(): Promise<number>
  /** Waits until a message has this state. Throws after 40 s. */
  waitForState(id: unknown, state: string): Promise<void>
}

let messageCount = 0

/** Creates a message that differs from all earlier ones. */
export const newMessage = () => ({ topic: 'question', message: `When do I renew? ${(messageCount += 1)}` })

/** Starts the API and a mail server. Messages are not held, unless `options.env` sets a hold. */
export async function startContact(options: StartOptions = {}): Promise<ContactApi> {
  await using opening = new AsyncDisposableStack()
  const mailServer = opening.use(await startMailServer())
  const api = opening.use(
    await startResource({
      ...options,
      env: {
        RESOURCE_SMTP_URL: mailServer.url,
        RESOURCE_DESK_ADDRESS: STAFF_INBOX,
        RESOURCE_CONTACT_HOLD: '0',
        ...options.env,
      },
    }),
  )
  const resources = opening.move()
  return {
    api,
    mailServer,
    issueToken: (email, registrationId, change) =>
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
        ...createPost(body, { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers }),
      }),
    async countStoredRows() {
      const { rows } = await api.db.query<{ count: number }>(
        'select (select count(*) from contact_messages) + (select count(*) from mails) as count',
      )
      return rows[0]?.count ?? -1
    },
    async waitForState(id, state) {
      const deadline = performance.now() + 40_000
      for (;;) {
        // `pg_sleep` is the pause between two reads.
        const { rows } = await api.db.query<{ state: string }>(
          'select state, pg_sleep(0.02) from contact_messages where id = $1',
          [id],
        )
        if (rows[0]?.state === state) return
        if (performance.now() > deadline) throw new Error(`the message is ${rows[0]?.state}, not ${state}`)
      }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
