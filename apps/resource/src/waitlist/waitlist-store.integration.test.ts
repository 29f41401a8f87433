import { randomBytes, randomUUID } from 'node:crypto'
import { ReferralSlug } from '@plainpath/domain'
import { createMailNotifier, createMailQueue } from '@plainpath/mail'
import { openPool } from '@plainpath/postgres'
import { openTestDatabase } from '@plainpath/postgres/testing'
import {
  createSealer,
  generateHashKey,
  generateKeyEncryptionKey,
  parseHashKey,
  UnsealError,
} from '@plainpath/sealing'
import { expect, test } from 'vitest'
import { createLink } from '../link-secret.ts'
import { MIGRATIONS } from '../migrations.ts'
import { countEntries } from './manage-waitlist.ts'
import { createWaitlistStore, type NewWaitlistEntry } from './waitlist-store.ts'

const sealer = createSealer(generateKeyEncryptionKey())
const hashKey = parseHashKey(generateHashKey())

async function openStore() {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openTestDatabase({ folder: MIGRATIONS, name: 'resource' }))
  // Ten times the usual time limits, for a busy machine.
  const db = opening.use(openPool(database.appUrl, { patience: 10 }))
  const mailNotifier = opening.use(createMailNotifier({ db, log: { warn: () => undefined } }))
  const resources = opening.move()
  return {
    ...createWaitlistStore({
      db,
      sealer,
      hashKey,
      mails: createMailQueue({ sealer, hashKey }),
      mailNotifier,
      logErasure: () => undefined,
    }),
    countEntries: () => countEntries(db),
    db,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Creates a random slug: 16 characters of the base32 alphabet. */
const newSlug = () =>
  ReferralSlug.parse(
    Array.from(randomBytes(16), (byte) => 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32]).join(''),
  )

const createEntry = (email: string, overrides: Partial<NewWaitlistEntry> = {}): NewWaitlistEntry => ({
  id: randomUUID(),
  email,
  canonicalEmail: email.toLowerCase(),
  referralSlug: newSlug(),
  joinedAt: new Date('2026-11-20T12:00:00Z'),
  confirmLink: createLink().stored,
  removeLink: createLink().stored,
  mail: { to: email, subject: 'Joined', text: 'Text.', requesterNetwork: '127.0.0.1' },
  ...overrides,
})

const ADDED = { ok: true, value: undefined }
const ALREADY_JOINED = { ok: false, error: 'already-joined' }

test('adds a mailbox only once, however its address is spelled', async () => {
  await using store = await openStore()
  expect(await store.add(createEntry('Ana@example.org'))).toEqual(ADDED)
  expect(await store.add(createEntry('ANA@example.org'))).toEqual(ALREADY_JOINED)
  expect(await store.countEntries()).toMatchObject({ entries: 1, confirmed: 0, referred: 0 })
})

test('adds exactly one of many simultaneous entries for one mailbox', async () => {
  await using store = await openStore()
  // The pool queues 25 requests even while no query completes. On a busy machine, it could refuse some of a larger number.
  const results = await Promise.all(
    Array.from({ length: 25 }, () => store.add(createEntry('ana@example.org'))),
  )
  expect(results.filter(({ ok }) => ok)).toHaveLength(1)
  expect((await store.countEntries()).entries).toBe(1)
})

test('stores the referrer if an entry has the slug, and ignores any other slug', async () => {
  await using store = await openStore()
  const referrer = createEntry('ana@example.org')
  await store.add(referrer)
  await store.add(createEntry('ben@example.org', { referredBySlug: referrer.referralSlug }))
  await store.add(createEntry('cleo@example.org', { referredBySlug: newSlug() }))
  expect(await store.countEntries()).toMatchObject({ entries: 3, referred: 1, credited: 0 })
})

test('throws for a duplicate referral slug, instead of returning already-joined', async () => {
  await using store = await openStore()
  const entry = createEntry('ana@example.org')
  await store.add(entry)
  await expect(
    store.add(createEntry('ben@example.org', { referralSlug: entry.referralSlug })),
  ).rejects.toThrow('referral_slug')
})

test('confirms and removes an entry only by its own links, and credits its referrer', async () => {
  await using store = await openStore()
  const referrer = createEntry('ana@example.org')
  await store.add(referrer)
  const referred = createEntry('ben@example.org', { referredBySlug: referrer.referralSlug })
  await store.add(referred)
  const now = new Date('2026-11-21T12:00:00Z')
  expect(await store.confirm(referred.removeLink.secretHash, now)).toBe(false)
  expect(await store.remove(referred.confirmLink.secretHash, now)).toBe(false)
  expect(await store.confirm(createLink().stored.secretHash, now)).toBe(false)
  expect(await store.countEntries()).toEqual({ entries: 2, confirmed: 0, referred: 1, credited: 0 })
  expect(await store.confirm(referred.confirmLink.secretHash, now)).toBe(true)
  expect(await store.confirm(referred.confirmLink.secretHash, now)).toBe(true)
  expect(await store.countEntries()).toEqual({ entries: 2, confirmed: 1, referred: 1, credited: 1 })
  expect(await store.remove(referred.removeLink.secretHash, now)).toBe(true)
  expect(await store.remove(referred.removeLink.secretHash, now)).toBe(false)
  expect(await store.confirm(referred.confirmLink.secretHash, now)).toBe(false)
  expect((await store.countEntries()).entries).toBe(1)
})

test('adds a new entry for a removed mailbox, whose old links and slug no longer work', async () => {
  await using store = await openStore()
  const removedEntry = createEntry('ana@example.org')
  await store.add(removedEntry)
  await store.remove(removedEntry.removeLink.secretHash, removedEntry.joinedAt)
  expect(await store.add(createEntry('ana@example.org'))).toEqual(ADDED)
  expect(await store.confirm(removedEntry.confirmLink.secretHash, removedEntry.joinedAt)).toBe(false)
  expect(await store.remove(removedEntry.removeLink.secretHash, removedEntry.joinedAt)).toBe(false)
  await store.add(createEntry('ben@example.org', { referredBySlug: removedEntry.referralSlug }))
  expect(await store.countEntries()).toMatchObject({ entries: 2, referred: 0 })
})

test('deletes a requested removal link after 7 days, and removes only a mailbox on the list', async () => {
  await using store = await openStore()
  await store.add(createEntry('ana@example.org'))
  const requestedAt = new Date('2026-11-20T12:00:00Z')
  const requestRemoval = async (canonicalEmail: string) => {
    const link = createLink().stored
    const mail = { to: canonicalEmail, subject: 'Leave', text: 'Text.', requesterNetwork: '127.0.0.1' }
    await store.requestRemoval({ canonicalEmail, link, mail, requestedAt })
    return link
  }
  const listedLink = await requestRemoval('ana@example.org')
  const unlistedLink = await requestRemoval('ben@example.org')
  expect(await store.hasEntryForLink(listedLink.id)).toBe(true)
  expect(await store.hasEntryForLink(unlistedLink.id)).toBe(false)
  expect(await store.remove(unlistedLink.secretHash, requestedAt)).toBe(false)
  await store.eraseOldLinks(new Date('2026-11-27T11:59:59Z'))
  expect(await store.hasEntryForLink(listedLink.id)).toBe(true)
  await store.eraseOldLinks(new Date('2026-11-27T12:00:00Z'))
  expect(await store.hasEntryForLink(listedLink.id)).toBe(false)
  expect(await store.remove(listedLink.secretHash, requestedAt)).toBe(false)
  expect((await store.countEntries()).entries).toBe(1)
})

test('a requested removal link stops working after 7 days, even if it was not deleted yet', async () => {
  await using store = await openStore()
  await store.add(createEntry('ana@example.org'))
  const link = createLink().stored
  await store.requestRemoval({
    canonicalEmail: 'ana@example.org',
    link,
    mail: { to: 'ana@example.org', subject: 'Leave', text: 'Text.', requesterNetwork: '127.0.0.1' },
    requestedAt: new Date('2026-11-20T12:00:00Z'),
  })
  expect(await store.remove(link.secretHash, new Date('2026-11-27T12:00:00Z'))).toBe(false)
  expect((await store.countEntries()).entries).toBe(1)
  expect(await store.remove(link.secretHash, new Date('2026-11-27T11:59:59Z'))).toBe(true)
})

test.for(['queued', 'dead'])('removing an entry erases the address in its %s mail', async (state) => {
  await using store = await openStore()
  const entry = createEntry('ana@example.org')
  await store.add(entry)
  await store.db.query('update mails set state = $1, settled_at = $2', [
    state,
    state === 'dead' ? entry.joinedAt : null,
  ])
  expect(await store.remove(entry.removeLink.secretHash, entry.joinedAt)).toBe(true)
  const { rows } = await store.db.query('select mail_sealed from mails')
  expect(rows).toEqual([{ mail_sealed: null }])
})

test('encrypts the address as it was typed, and decrypts it only in its own row', async () => {
  await using store = await openStore()
  const entry = createEntry('Ana+Tag@B\u00fccher.example')
  await store.add(entry)
  await store.add(createEntry('ben@example.org'))
  const { rows } = await store.db.query<{ id: string; email_sealed: Buffer; email_hash_key: string }>(
    'select * from waitlist_entries where id = $1',
    [entry.id],
  )
  const [row] = rows
  if (!row) throw new Error('no row')
  expect(sealer.unseal(row.email_sealed, `waitlist_entries/${entry.id}/email`).toString()).toBe(entry.email)
  expect(() => sealer.unseal(row.email_sealed, `waitlist_entries/${createEntry('x').id}/email`)).toThrow(
    UnsealError,
  )
  expect(row.email_hash_key).toBe(hashKey.id)
})
