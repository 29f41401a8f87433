import { findUrgency, TriggerId } from '@plainpath/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findHoldEnd } from './contact-message.ts'

const MINUTE_MS = 60_000

test('a message waits as long as the setting says, and with an urgent trigger a minute at most', () => {
  const from = new Date('2026-11-20T12:00:00Z')
  fc.assert(
    fc.property(
      fc.subarray(TriggerId.options, { maxLength: 10 }),
      fc.integer({ min: 0, max: 60 }),
      (triggers, minutes) => {
        const isUrgent = triggers.some((trigger) => findUrgency(trigger) === 'urgent')
        const waited = findHoldEnd(from, triggers, minutes * MINUTE_MS).getTime() - from.getTime()
        expect(waited).toBe((isUrgent ? Math.min(1, minutes) : minutes) * MINUTE_MS)
      },
    ),
  )
})
