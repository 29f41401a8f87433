import { findUrgency, TriggerId } from '@plainpath/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findHoldEnd } from './contact-message.ts'

const MINUTE_MS = 60_000

test('holds a message for the configured time, or for at most a minute with an urgent trigger', () => {
  const receivedAt = new Date('2026-11-20T12:00:00Z')
  fc.assert(
    fc.property(
      // A message names at most ten triggers, and RESOURCE_CONTACT_HOLD is at most 60 minutes.
      fc.subarray(TriggerId.options, { maxLength: 10 }),
      fc.integer({ min: 0, max: 60 }),
      (triggers, minutes) => {
        const isUrgent = triggers.some((trigger) => findUrgency(trigger) === 'urgent')
        const holdEnd = findHoldEnd(receivedAt, triggers, minutes * MINUTE_MS)
        const heldMs = holdEnd.getTime() - receivedAt.getTime()
        expect(heldMs).toBe((isUrgent ? Math.min(1, minutes) : minutes) * MINUTE_MS)
      },
    ),
  )
})
