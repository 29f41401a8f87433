import { describe, expect, test } from 'vitest'
import { MailContent } from './mail.ts'
import { parseMailbox } from './mail-caps.ts'

const good: MailContent = { to: 'ana@example.org', subject: 'Hello', text: 'One line.\n' }

describe('rejects a mail', () => {
  test.for<{ why: string; change: Partial<MailContent> }>([
    {
      why: 'with a line end in the address',
      change: { to: 'ana@example.org\r\nBcc: eve@example.org' },
    },
    { why: 'with a bare line feed after the address', change: { to: 'ana@example.org\n' } },
    { why: 'with a line separator in the address', change: { to: 'ana@example.org\u2028' } },
    { why: 'with two addresses', change: { to: 'ana@example.org,eve@example.org' } },
    { why: 'with a semicolon between two', change: { to: 'ana@example.org;eve@example.org' } },
    { why: 'with a name around the address', change: { to: 'Ana <ana@example.org>' } },
    { why: 'with a quoted local part', change: { to: '"ana@evil.example x"@example.org' } },
    { why: 'with an encoded word', change: { to: '=?utf-8?q?x?=@example.org' } },
    { why: 'with a line end in the subject', change: { subject: 'Hello\r\nBcc: eve@example.org' } },
    { why: 'with a bare carriage return in the subject', change: { subject: 'Hello\rBcc: e' } },
    { why: 'with a paragraph separator in the subject', change: { subject: 'Hello\u2029Bcc: e' } },
    { why: 'with a zero byte in the subject', change: { subject: 'Hello\0' } },
    { why: 'with a line end in the reply address', change: { replyTo: 'ana@example.org\r\nX: y' } },
    { why: 'with half a surrogate in the subject', change: { subject: '\ud800' } },
    { why: 'with a carriage return in the text', change: { text: 'a\r\n.\r\n' } },
    { why: 'with an escape character in the text', change: { text: '\u001b[2J' } },
    { why: 'with no text', change: { text: '' } },
    { why: 'with 20 001 characters of text', change: { text: 'x'.repeat(20_001) } },
    { why: 'with a subject of 201 characters', change: { subject: 'x'.repeat(201) } },
  ])('$why', ({ change }) => {
    expect(MailContent.safeParse(good).success).toBe(true)
    const refused = MailContent.safeParse({ ...good, ...change })
    expect(refused.success).toBe(false)
    expect(JSON.stringify(refused.error)).not.toMatch(/ana|eve/)
  })
})

test('leaves template syntax in the text as it is', () => {
  const text = 'Hello {{7*7}} ${1+1} <%= 1 %>'
  expect(MailContent.parse({ ...good, text }).text).toBe(text)
})

test.for([
  ['Ana+News@Example.ORG', 'ana@example.org'],
  ['a.n.a+x@gmail.com', 'ana@gmail.com'],
  ['a.n.a@googlemail.com', 'ana@gmail.com'],
  ['a.n.a@example.org', 'a.n.a@example.org'],
  ['+tag@example.org', '+tag@example.org'],
  ['ana+a+b@b\u00fccher.example', 'ana@xn--bcher-kva.example'],
])('counts %s as the mailbox %s', ([address, mailbox]) => {
  expect(parseMailbox(address ?? '').mailbox).toBe(mailbox)
})
