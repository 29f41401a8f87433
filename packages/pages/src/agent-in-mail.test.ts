import { expect, test } from 'vitest'
import { describeAgentInMail } from './agent-in-mail.ts'

const registeredAt = new Date('2026-11-20T12:00:00Z')
const named = (name: string) => describeAgentInMail({ name, registeredAt })

test('an agent without a name is described by the day that it registered', () => {
  expect(describeAgentInMail({ registeredAt })).toBe(
    'The agent gave us no name. It registered with us on November 20, 2026.',
  )
})

test.for<[string, string, string]>([
  ['an ordinary name', 'Atlas 2.0 (U.S.)', 'Atlas 2.0 (U.S.)'],
  ['line ends', 'Atlas\r\n\nYou owe us money', 'Atlas You owe us money'],
  ['Unicode line ends', 'Atlas\u2028Pay\u2029now\u0085', 'Atlas Pay now '],
  ['text that would end the quotation', 'Atlas”\n“Plainpath', "Atlas' 'Plainpath"],
  ['directions and hidden characters', '\u202Eevil\u2066\u200F\u200B', ' evil '],
  ['an address', 'https://evil.example/a.b?c', 'https[:]//evil[.]example/a.b?c'],
  [
    'a bare domain, also with other dots',
    'www.evil.example evil。example',
    'www[.]evil[.]example evil[。]example',
  ],
  ['a mailbox', 'help@evil.example', 'help[@]evil[.]example'],
])('%s stays in its quotation marks, on its line', ([_what, name, shown]) => {
  const text = named(name)
  expect(text.split('\n')[2]).toBe(`   “${shown}”`)
  expect(text.split('\n')).toHaveLength(6)
  expect(text).toContain('That name is unverified')
  expect(text.match(/[“”]/g)).toHaveLength(2)
})
