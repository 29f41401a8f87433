import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeAgentInMail, referToAgentInMail } from './agent-in-mail.ts'

const registeredAt = new Date('2026-11-20T12:00:00Z')
const describeNamed = (name: string) => describeAgentInMail({ name, registeredAt })

test('an agent without a name is described by the day on which it registered', () => {
  expect(describeAgentInMail({ registeredAt })).toBe(
    'The agent gave us no name. It registered with us on November 20, 2026.',
  )
})

test.for<[string, string, string]>([
  ['ordinary characters', 'Atlas 2.0 (U.S.)', 'Atlas 2.0 (U.S.)'],
  ['line ends', 'Atlas\r\n\nYou owe us money', 'Atlas You owe us money'],
  ['Unicode line ends', 'Atlas\u2028Pay\u2029now\u0085', 'Atlas Pay now '],
  ['text that would end the quotation', 'Atlas”\n“Plainpath', "Atlas' 'Plainpath"],
  ['bidirectional and invisible characters', '\u202Eevil\u2066\u200F\u200B', ' evil '],
  ['an address', 'https://evil.example/a.b?c', 'https[:]//evil[.]example/a.b?c'],
  [
    'a bare domain, also with other dots',
    'www.evil.example evil。example',
    'www[.]evil[.]example evil[。]example',
  ],
  ['a domain whose ending has a vowel sign', 'evil.भारत evil.বাংলা', 'evil[.]भारत evil[.]বাংলা'],
  ['a mailbox', 'help@evil.example', 'help[@]evil[.]example'],
])('a name with %s stays in its quotation marks, on its line', ([_case, name, shownName]) => {
  const text = describeNamed(name)
  // The name is on the third of six lines, and the only quotation marks are those around it.
  expect(text.split('\n')[2]).toBe(`   “${shownName}”`)
  expect(text.split('\n')).toHaveLength(6)
  expect(text).toContain('That name is unverified')
  expect(text.match(/[“”]/g)).toHaveLength(2)
})

describe('an agent with a verified domain', () => {
  const describeAt = (verifiedDomain: string) => describeAgentInMail({ verifiedDomain, registeredAt })

  test('is named only by the domain, with dots in brackets', () => {
    const expected = `The agent is at agent[.]example[.]org (domain checked).
It has shown us that it controls this domain. We did not check who runs it.
It first contacted us on November 20, 2026.`
    expect(describeAt('agent.example.org')).toBe(expected)
    expect(describeAgentInMail({ name: 'Atlas', verifiedDomain: 'agent.example.org', registeredAt })).toBe(
      expected,
    )
    expect(referToAgentInMail({ verifiedDomain: 'agent.example.org' })).toBe(
      'An AI agent at agent[.]example[.]org (domain checked)',
    )
  })

  test('is described in three lines even if its host has 253 characters, and a host keeps its ASCII form', () => {
    const host = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(57)}.org`
    expect(host).toHaveLength(253)
    expect(describeAt(host).split('\n')).toHaveLength(3)
    expect(describeAt('xn--e1awd7f.example')).toContain('at xn--e1awd7f[.]example (domain checked).')
  })

  test('is referred to without a dot outside brackets', () => {
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/)
    const hosts = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => labels.join('.'))
    fc.assert(
      fc.property(hosts, (host) => {
        expect(referToAgentInMail({ verifiedDomain: host })).not.toMatch(/[^[]\.|\.[^\]]/)
      }),
    )
  })
})

describe('an unverified name', () => {
  // \u200B is a zero-width space, \u00AD a soft hyphen, and \u3164 and \u115F are Hangul fillers: all of them are invisible.
  test.for([
    'agent.example.org (domain checked)',
    'An agent at agent.example.org (DOMAIN CHECKED)',
    'agent.example.org (domain\u200B-\nchecked)',
    'agent.example.org (do\u00ADmain checked)',
    'agent.example.org (domäin chécked)',
    'agent.example.org (ｄｏｍａｉｎ　ｃｈｅｃｋｅｄ)',
    'domainchecked',
    'agent.example.org (domain\u3164checked)',
    'agent.example.org (do\u115Fmain checked)',
    'agent.example.org (domain domain checked checked)',
  ])('%j is shown without the words "domain checked"', (name) => {
    const text = describeNamed(name)
    expect(text).toContain('…')
    expect(text.normalize('NFKD').replaceAll(/[^a-z]/giu, '')).not.toMatch(/domainchecked/i)
    expect(text).toContain('That name is unverified')
  })

  test('with these words in another order is shown unchanged', () => {
    // Only names with the words are normalised (NFKD), which would change `ë` and `½`.
    expect(describeNamed('Checked domains of Zoë ½')).toContain('“Checked domains of Zoë ½”')
  })

  test('affects only its own line of the description', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (name) => {
        const [introduction, , , ...linesAfterName] = describeNamed(name).split('\n')
        expect(introduction).toBe('The agent calls itself:')
        expect(linesAfterName).toEqual(describeNamed('Atlas').split('\n').slice(3))
      }),
    )
  })

  test('is not part of the reference to the agent', () => {
    expect(referToAgentInMail()).toBe('An AI agent')
    expect(referToAgentInMail({ verifiedDomain: undefined })).toBe('An AI agent')
  })
})
