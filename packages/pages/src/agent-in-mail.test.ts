import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeAgentInMail, referToAgentInMail } from './agent-in-mail.ts'

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

describe('an agent with a verified domain', () => {
  const at = (verifiedDomain: string) => describeAgentInMail({ verifiedDomain, registeredAt })

  test('is named by it alone, which no mail program turns into a link', () => {
    const described = `The agent is at agent[.]example[.]org (domain checked).
It has shown us that it controls this domain. We did not check who runs it.
It first contacted us on November 20, 2026.`
    expect(at('agent.example.org')).toBe(described)
    expect(describeAgentInMail({ name: 'Atlas', verifiedDomain: 'agent.example.org', registeredAt })).toBe(
      described,
    )
    expect(referToAgentInMail({ verifiedDomain: 'agent.example.org' })).toBe(
      'An AI agent at agent[.]example[.]org (domain checked)',
    )
  })

  test('stays on one line, however long its host is, and keeps the ASCII form of other letters', () => {
    const host = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(57)}.org`
    expect(host).toHaveLength(253)
    expect(at(host).split('\n')).toHaveLength(3)
    expect(at('xn--e1awd7f.example')).toContain('at xn--e1awd7f[.]example (domain checked).')
  })

  test('has no dot that could make a link', () => {
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/)
    const hosts = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => labels.join('.'))
    fc.assert(
      fc.property(hosts, (host) => {
        expect(referToAgentInMail({ verifiedDomain: host })).not.toMatch(/[^[]\.|\.[^\]]/)
      }),
    )
  })
})

describe('a name', () => {
  test.for([
    'agent.example.org (domain checked)',
    'An agent at agent.example.org (DOMAIN CHECKED)',
    'agent.example.org (domain\u200B-\nchecked)',
    'agent.example.org (do\u00ADmain checked)',
    'agent.example.org (domäin chécked)',
    'agent.example.org (ｄｏｍａｉｎ　ｃｈｅｃｋｅｄ)',
    'domainchecked',
  ])('%j does not say what only a verified domain may say', (name) => {
    const text = named(name)
    expect(text).toContain('…')
    expect(text.normalize('NFKD').replaceAll(/[^a-z]/giu, '')).not.toMatch(/domainchecked/i)
    expect(text).toContain('That name is unverified')
  })

  test('that says neither is shown as it is', () => {
    expect(named('Checked domains of Zoë ½')).toContain('“Checked domains of Zoë ½”')
  })

  test('never leaves its quotation marks, and is never part of a sentence', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (name) => {
        const [before, , , ...rest] = named(name).split('\n')
        expect([before, ...rest]).toEqual(['The agent calls itself:', ...named('Atlas').split('\n').slice(3)])
      }),
    )
    expect(referToAgentInMail()).toBe('An AI agent')
    expect(referToAgentInMail({ verifiedDomain: undefined })).toBe('An AI agent')
  })
})
