import { expect, test } from 'vitest'
import { startMailing } from '../test/start-mailing.ts'
import { eraseMails } from './stored-mail.ts'

test('what waits about something is dropped and says nothing any more, and what was given up neither', async () => {
  await using mailing = await startMailing()
  const given = { refused: await mailing.add(), sent: await mailing.add({ to: 'ben@example.org' }) }
  mailing.server.refuseNext({ at: 'rcpt', code: 550 })
  await using mailer = mailing.start()
  const states = async () => [await mailing.state(given.refused), await mailing.state(given.sent)]
  await expect
    .poll(async () => (await states()).map((row) => row['state']).toSorted(), { timeout: 10_000 })
    .toEqual(['dead', 'sent'])
  await mailer[Symbol.asyncDispose]()
  const [queued, other] = [await mailing.add(), await mailing.add({ about: 'note-2' })]
  await mailing.db.transaction((tx) => eraseMails(tx, 'note-1', mailing.clock.now))
  expect(await mailing.state(queued)).toMatchObject({ state: 'dropped', mail_sealed: null })
  expect((await states()).map((row) => [row['state'], row['mail_sealed']]).toSorted()).toEqual([
    ['dead', null],
    ['sent', null],
  ])
  expect(await mailing.state(other)).toMatchObject({ state: 'queued', mail_sealed: expect.any(Buffer) })
})
