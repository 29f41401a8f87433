import { randomBytes, randomUUID } from 'node:crypto'
import { ReferralSlug } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import type { NewWaitlistEntry, WaitlistStore } from './waitlist-store.ts'

const newSlug = () =>
  ReferralSlug.parse(
    Array.from(randomBytes(16), (byte) => 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32]).join(''),
  )

export const newEntry = (email: string, change: Partial<NewWaitlistEntry> = {}): NewWaitlistEntry => ({
  id: randomUUID(),
  email,
  canonicalEmail: email.toLowerCase(),
  referralSlug: newSlug(),
  joinedAt: new Date('2026-11-20T12:00:00Z'),
  ...change,
})

const ADDED = { ok: true, value: undefined }
const KNOWN = { ok: false, error: 'already-joined' }

/** Every WaitlistStore must pass this; `open` gives an empty one. */
export function describeWaitlistStore(kind: string, open: () => Promise<WaitlistStore & AsyncDisposable>) {
  describe(`${kind} waitlist store`, () => {
    test('adds a mailbox once, in whatever spelling', async () => {
      await using store = await open()
      expect(await store.add(newEntry('Ana@example.org'))).toEqual(ADDED)
      expect(await store.add(newEntry('ANA@example.org'))).toEqual(KNOWN)
      expect(await store.statistics()).toEqual({ entries: 1, referred: 0 })
    })

    test('of many simultaneous entries for one mailbox adds exactly one', async () => {
      await using store = await open()
      const results = await Promise.all(
        Array.from({ length: 50 }, () => store.add(newEntry('ana@example.org'))),
      )
      expect(results.filter(({ ok }) => ok)).toHaveLength(1)
      expect((await store.statistics()).entries).toBe(1)
    })

    test('keeps the referrer when the slug is that of an entry, and is silent when it is not', async () => {
      await using store = await open()
      const referrer = newEntry('ana@example.org')
      await store.add(referrer)
      await store.add(newEntry('ben@example.org', { referredBySlug: referrer.referralSlug }))
      await store.add(newEntry('cleo@example.org', { referredBySlug: newSlug() }))
      expect(await store.statistics()).toEqual({ entries: 3, referred: 1 })
    })

    test('throws rather than call a stranger known, should two slugs ever be the same', async () => {
      await using store = await open()
      const first = newEntry('ana@example.org')
      await store.add(first)
      await expect(
        store.add(newEntry('ben@example.org', { referralSlug: first.referralSlug })),
      ).rejects.toThrow('referral_slug')
    })
  })
}
