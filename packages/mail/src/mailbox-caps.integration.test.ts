import { DAY_MS } from '@plainpath/domain'
import { expect, test } from 'vitest'
import { type MailTestbed, openMailTestbed } from '../test/open-mail-testbed.ts'

/*
 * To one mailbox, mails that a person requested and all other mails count separately. At most `mailbox` mails of each are sent for
 * one network, and at most `requestedMailbox` requested mails for all networks. All mails go to the same mailbox.
 */

const CAPS = { mailbox: 2, requestedMailbox: 5, domain: 100, all: 100 }

/** A network, and whether a person at it requests the mail. */
type Requester = readonly [requesterNetwork: string, isRequestedByPerson: boolean]
const repeat = (count: number, requester: Requester): Requester[] =>
  Array.from({ length: count }, () => requester)
const addMailFor = (testbed: MailTestbed, [requesterNetwork, isRequestedByPerson]: Requester) =>
  testbed.addMail({ requesterNetwork, isRequestedByPerson })

const ROWS = [
  {
    title: 'other mails do not use up the cap of requested mails',
    earlier: repeat(2, ['a', false]),
    dropped: ['b', false],
    sent: ['a', true],
  },
  {
    title: 'requested mails do not use up the cap of other mails',
    earlier: repeat(2, ['a', true]),
    dropped: ['a', true],
    sent: ['a', false],
  },
  {
    title: 'requested mails of one network do not use up the cap of another network',
    earlier: repeat(2, ['a', true]),
    dropped: ['a', true],
    sent: ['b', true],
  },
  {
    title: 'requested mails of all networks have a cap, even for a new network',
    earlier: [...repeat(2, ['a', true]), ...repeat(2, ['b', true]), ['c', true]],
    dropped: ['d', true],
    sent: ['d', false],
  },
] as const satisfies readonly { title: string; earlier: Requester[]; dropped: Requester; sent: Requester }[]

test.for(ROWS)('$title', async ({ earlier, dropped, sent }) => {
  await using testbed = await openMailTestbed()
  testbed.startMailer({ caps: CAPS })
  for (const requester of earlier) await testbed.waitForState(await addMailFor(testbed, requester), 'sent')
  const droppedMail = await testbed.waitForState(await addMailFor(testbed, dropped), 'dropped')
  expect(droppedMail).toMatchObject({ mail_sealed: null, counted_at: null })
  await testbed.waitForState(await addMailFor(testbed, sent), 'sent')
  // A day later, the earlier mails no longer count.
  testbed.clock.now = new Date(testbed.clock.now.getTime() + DAY_MS)
  await testbed.waitForState(await addMailFor(testbed, dropped), 'sent')
})

test.for(ROWS)('for mails that waited under a shared cap: $title', async ({ earlier, dropped, sent }) => {
  await using testbed = await openMailTestbed()
  const mailer = testbed.startMailer({ caps: { ...CAPS, domain: 1 } })
  // Uses up the cap of the domain.
  await testbed.waitForState(
    await testbed.addMail({ to: 'ben@example.org', isRequestedByPerson: true }),
    'sent',
  )
  const ids: string[] = []
  for (const requester of [...earlier, dropped, sent]) {
    testbed.clock.now = new Date(testbed.clock.now.getTime() + 1_000)
    ids.push(await addMailFor(testbed, requester))
    await expect.poll(() => testbed.readRow(ids.at(-1) ?? '')).toMatchObject({ deferred_by: 'domain' })
  }
  await mailer[Symbol.asyncDispose]()
  await testbed.startMailer({ caps: CAPS }).runUpkeep()
  await testbed.waitForState(ids.at(-1) ?? '', 'sent')
  // Of the others, the one that comes last in the order of release is dropped. It need not be the one that was added last.
  const listStates = async () => (await testbed.db.query('select state from mails order by state')).rows
  const sentStates = Array.from({ length: earlier.length + 2 }, () => ({ state: 'sent' }))
  await expect.poll(listStates).toEqual([{ state: 'dropped' }, ...sentStates])
})
