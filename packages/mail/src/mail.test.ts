import { describe, expect, test } from 'vitest'
import { MailContent } from './mail.ts'
import { parseMailbox } from './mail-caps.ts'

const validMail: MailContent = { to: 'ana@example.org', subject: 'Hello', text: 'One line.\n' }

describe('rejects a mail, without quoting an address,', () => {
  test.for<{ fault: string; change: Partial<MailContent> }>([
    {
      fault: 'with a line end in the address',
      change: { to: 'ana@example.org\r\nBcc: eve@example.org' },
    },
    { fault: 'with a bare line feed after the address', change: { to: 'ana@example.org\n' } },
    { fault: 'with a line separator in the address', change: { to: 'ana@example.org\u2028' } },
    { fault: 'with two addresses', change: { to: 'ana@example.org,eve@example.org' } },
    { fault: 'with a semicolon between two addresses', change: { to: 'ana@example.org;eve@example.org' } },
    { fault: 'with a name around the address', change: { to: 'Ana <ana@example.org>' } },
    { fault: 'with a quoted local part', change: { to: '"ana@evil.example x"@example.org' } },
    { fault: 'with an encoded word', change: { to: '=?utf-8?q?x?=@example.org' } },
    { fault: 'with a line end in the subject', change: { subject: 'Hello\r\nBcc: eve@example.org' } },
    { fault: 'with a bare carriage return in the subject', change: { subject: 'Hello\rBcc: e' } },
    { fault: 'with a paragraph separator in the subject', change: { subject: 'Hello\u2029Bcc: e' } },
    { fault: 'with a zero byte in the subject', change: { subject: 'Hello\0' } },
    { fault: 'with a line end in the reply address', change: { replyTo: 'ana@example.org\r\nX: y' } },
    { fault: 'with half a surrogate in the subject', change: { subject: '\ud800' } },
    { fault: 'with a carriage return in the text', change: { text: 'a\r\n.\r\n' } },
    { fault: 'with an escape character in the text', change: { text: '\u001b[2J' } },
    { fault: 'with no text', change: { text: '' } },
    { fault: 'with 20,001 characters of text', change: { text: 'x'.repeat(20_001) } },
    { fault: 'with a subject of 201 characters', change: { subject: 'x'.repeat(201) } },
  ])('$fault', ({ change }) => {
    expect(MailContent.safeParse(validMail).success).toBe(true)
    const parsed = MailContent.safeParse({ ...validMail, ...change })
    expect(parsed.success).toBe(false)
    expect(JSON.stringify(parsed.error)).not.toMatch(/ana|eve/)
  })
})

test('does not interpret template syntax in the text', () => {
  const text = 'Hello {{7*7}} ${1+1} <%= 1 %>'
  expect(MailContent.parse({ ...validMail, text }).text).toBe(text)
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
