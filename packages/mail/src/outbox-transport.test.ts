import { mkdtemp, readdir, readFile, rm, stat, symlink, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { createOutboxTransport } from './mail-transport.ts'

/** Its first line quotes another person, so the link in that line is not announced. */
const mail = {
  to: 'ana@example.org',
  subject: 'Confirm',
  text: '| https://quoted.example\nOpen\nhttp://localhost:8080/waitlist/confirm?link=abc\nor not.\n',
  messageId: '1@localhost',
  from: 'no-reply@localhost',
  date: new Date('2026-11-20T12:00:00Z'),
}

test('writes a mail to a file that only its owner can read, announces its link, and deletes it after 24 hours', async () => {
  await using cleanup = new AsyncDisposableStack()
  const parent = await mkdtemp(path.join(tmpdir(), 'outbox-'))
  cleanup.defer(() => rm(parent, { recursive: true }))
  const directory = path.join(parent, 'outbox')
  const lines: string[] = []
  using transport = createOutboxTransport({ directory, announce: (line) => lines.push(line) })
  // The directory does not exist yet.
  await transport.sweep?.(new Date())
  await transport.send(mail)
  expect(lines).toEqual(['Mail for ana@example.org: http://localhost:8080/waitlist/confirm?link=abc'])
  const file = path.join(directory, '1@localhost.eml')
  expect((await stat(directory)).mode & 0o777).toBe(0o700)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const message = await readFile(file, 'utf8')
  expect(message).toMatch(/^From: Plainpath <no-reply@localhost>\nTo: ana@example.org\n/m)
  expect(message).toContain('Message-ID: <1@localhost>')

  const writtenAt = new Date('2026-11-20T12:00:00Z')
  // The sweep deletes by the time of the last change to the file.
  await utimes(file, writtenAt, writtenAt)
  await transport.sweep?.(new Date('2026-11-21T12:00:00Z'))
  expect(await readdir(directory)).toHaveLength(1)
  // Its target does not exist, so to the sweep it is a file that another process has just deleted.
  await symlink('deleted', path.join(directory, '0@localhost.eml'))
  await transport.sweep?.(new Date('2026-11-21T12:00:01Z'))
  expect(await readdir(directory)).toEqual(['0@localhost.eml'])
})
