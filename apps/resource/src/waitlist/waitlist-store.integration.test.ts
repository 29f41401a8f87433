import { randomBytes, randomUUID } from 'node:crypto'
import { ReferralSlug } from '@plainpath/domain'
import { createMailNotifier, createMailQueue } from '@plainpath/mail'
import { openPool } from '@plainpath/postgres'
import { openTestDatabase } from '@plainpath/postgres/testing'
import {
  newHashKey,
  newKeyEncryptionKey,
  parseHashKey,
  parseKeyEncryptionKeys,
  SealError,
} from '@plainpath/sealing'
import { expect, test } from 'vitest'
import { createLink } from '../link-secret.ts'
import { MIGRATIONS } from '../migrations.ts'
import { countEntries } from './manage-waitlist.ts'
import { createWaitlistStore, type NewWaitlistEntry } from './waitlist-store.ts'

const sealingKeys = parseKeyEncryptionKeys(newKeyEncryptionKey())
const hashKey = parseHashKey(newHashKey())

async function open() {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openTestDatabase({ folder: MIGRATIONS, name: 'resource' }))
  const db = opening.use(openPool(database.appUrl, { patience: 10 }))
  const mailNotifier = opening.use(createMailNotifier({ db, log: { warn: () => undefined } }))
  const resources = opening.move()
  return {
    ...createWaitlistStore({
      db,
      sealingKeys,
      hashKey,
      mails: createMailQueue({ sealingKeys, hashKey }),
      mailNotifier,
      logErasure: () => undefined,
    }),
    statistics: () => countEntries(db),
    db,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const newSlug = () =>
  ReferralSlug.parse(
    Array.from(randomBytes(16), (byte) => 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32]).join(''),
  )

const newEntry = (email: string, change: Partial<NewWaitlistEntry> = {}): NewWaitlistEntry => ({
  id: randomUUID(),
  email,
  canonicalEmail: email.toLowerCase(),
  referralSlug: newSlug(),
  joinedAt: new Date('2026-11-20T12:00:00Z'),
  confirmLink: createLink().stored,
  removeLink: createLink().stored,
  mail: { to: email, subject: 'Joined', text: 'Text.', sender: '127.0.0.1' },
  ...change,
})

const ADDED = { ok: true, value: undefined }
const KNOWN = { ok: false, error: 'already-joined' }

test('adds a mailbox once, in whatever spelling', async () => {
  await using store = await open()
  expect(await store.add(newEntry('Ana@example.org'))).toEqual(ADDED)
  expect(await store.add(newEntry('ANA@example.org'))).toEqual(KNOWN)
  expect(await store.statistics()).toMatchObject({ entries: 1, confirmed: 0, referred: 0 })
})

test('adds exactly one of many simultaneous entries for one mailbox', async () => {
  await using store = await open()
  // As many as the pool queues even while no query completes: more would be shed on a busy machine.
  const results = await Promise.all(Array.from({ length: 25 }, () => store.add(newEntry('ana@example.org'))))
  expect(results.filter(({ ok }) => ok)).toHaveLength(1)
  expect((await store.statistics()).entries).toBe(1)
})

test('keeps the referrer when an entry has the slug, and ignores any other slug', async () => {
  await using store = await open()
  const referrer = newEntry('ana@example.org')
  await store.add(referrer)
  await store.add(newEntry('ben@example.org', { referredBySlug: referrer.referralSlug }))
  await store.add(newEntry('cleo@example.org', { referredBySlug: newSlug() }))
  expect(await store.statistics()).toMatchObject({ entries: 3, referred: 1, credited: 0 })
})

test('throws rather than call a stranger known, should two slugs ever be the same', async () => {
  await using store = await open()
  const first = newEntry('ana@example.org')
  await store.add(first)
  await expect(store.add(newEntry('ben@example.org', { referralSlug: first.referralSlug }))).rejects.toThrow(
    'referral_slug',
  )
})

test('confirms and removes only by its own links, and credits the referrer of a confirmed entry', async () => {
  await using store = await open()
  const referrer = newEntry('ana@example.org')
  await store.add(referrer)
  const led = newEntry('ben@example.org', { referredBySlug: referrer.referralSlug })
  await store.add(led)
  const now = new Date('2026-11-21T12:00:00Z')
  expect(await store.confirm(led.removeLink.secretHash, now)).toBe(false)
  expect(await store.remove(led.confirmLink.secretHash)).toBe(false)
  expect(await store.confirm(createLink().stored.secretHash, now)).toBe(false)
  expect(await store.statistics()).toEqual({ entries: 2, confirmed: 0, referred: 1, credited: 0 })
  expect(await store.confirm(led.confirmLink.secretHash, now)).toBe(true)
  expect(await store.confirm(led.confirmLink.secretHash, now)).toBe(true)
  expect(await store.statistics()).toEqual({ entries: 2, confirmed: 1, referred: 1, credited: 1 })
  expect(await store.remove(led.removeLink.secretHash)).toBe(true)
  expect(await store.remove(led.removeLink.secretHash)).toBe(false)
  expect(await store.confirm(led.confirmLink.secretHash, now)).toBe(false)
  expect((await store.statistics()).entries).toBe(1)
})

test('a person who joins again gets a new entry: old links and the old slug no longer work', async () => {
  await using store = await open()
  const before = newEntry('ana@example.org')
  await store.add(before)
  await store.remove(before.removeLink.secretHash)
  expect(await store.add(newEntry('ana@example.org'))).toEqual(ADDED)
  expect(await store.confirm(before.confirmLink.secretHash, before.joinedAt)).toBe(false)
  expect(await store.remove(before.removeLink.secretHash)).toBe(false)
  await store.add(newEntry('ben@example.org', { referredBySlug: before.referralSlug }))
  expect(await store.statistics()).toMatchObject({ entries: 2, referred: 0 })
})

test('a link for removal works only for a mailbox on the list, for 7 days', async () => {
  await using store = await open()
  await store.add(newEntry('ana@example.org'))
  const requestedAt = new Date('2026-11-20T12:00:00Z')
  const requestRemoval = async (canonicalEmail: string) => {
    const link = createLink().stored
    const mail = { to: canonicalEmail, subject: 'Leave', text: 'Text.', sender: '127.0.0.1' }
    await store.requestRemoval({ canonicalEmail, link, mail, requestedAt })
    return link
  }
  const [there, absent] = [await requestRemoval('ana@example.org'), await requestRemoval('ben@example.org')]
  expect([await store.hasEntryForLink(there.id), await store.hasEntryForLink(absent.id)]).toEqual([
    true,
    false,
  ])
  expect(await store.remove(absent.secretHash)).toBe(false)
  await store.eraseOldLinks(new Date('2026-11-27T11:59:59Z'))
  expect(await store.hasEntryForLink(there.id)).toBe(true)
  await store.eraseOldLinks(new Date('2026-11-27T12:00:00Z'))
  expect(await store.hasEntryForLink(there.id)).toBe(false)
  expect(await store.remove(there.secretHash)).toBe(false)
  expect((await store.statistics()).entries).toBe(1)
})

test('an address opens in its own row alone, as typed', async () => {
  await using store = await open()
  const entry = newEntry('Ana+Tag@B\u00fccher.example')
  await store.add(entry)
  await store.add(newEntry('ben@example.org'))
  const { rows } = await store.db.query<{ id: string; email_sealed: Buffer; email_hash_key: string }>(
    'select * from waitlist_entries where id = $1',
    [entry.id],
  )
  const [row] = rows
  if (!row) throw new Error('no row')
  expect(sealingKeys.open(row.email_sealed, `waitlist_entries/${entry.id}/email`).toString()).toBe(
    entry.email,
  )
  expect(() => sealingKeys.open(row.email_sealed, `waitlist_entries/${newEntry('x').id}/email`)).toThrow(
    SealError,
  )
  expect(row.email_hash_key).toBe(hashKey.id)
})
