import { randomUUID } from 'node:crypto'
import type { ContactRequest, Result } from '@plainpath/domain'
import type { ServiceUrls } from '@plainpath/metadata'
import { receiptMail } from './contact-mails.ts'
import type { ContactStore } from './contact-store.ts'

export type SendMessage = (request: {
  readonly registrationId: string
  /** The address that the person verified. */
  readonly email: string
  readonly asked: ContactRequest
  readonly idempotencyKey: string | undefined
}) => Promise<Result<{ id: string }, 'in-progress' | 'other-request'>>

/** Takes a message of a person whose address is verified; mail takes it to the desk. */
export const sendMessage =
  (deps: { contact: ContactStore; urls: ServiceUrls; now: () => Date }): SendMessage =>
  async ({ registrationId, email, asked, idempotencyKey }) => {
    const id = randomUUID()
    const guideSlug = asked.guideSlug ?? null
    const request = JSON.stringify([asked.topic, asked.message, guideSlug])
    return await deps.contact.receive({
      id,
      registrationId,
      topic: asked.topic,
      text: asked.message,
      guideSlug,
      replyTo: email,
      createdAt: deps.now(),
      ...(idempotencyKey !== undefined && { idempotency: { key: idempotencyKey, request } }),
      receipt: receiptMail(deps.urls, { id, replyTo: email }),
    })
  }
