import { domainToASCII } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalEmail, EmailAddress } from './email-address.ts'

describe('two spellings of one mailbox have one canonical form', () => {
  test.for([
    ['ana@example.org', 'ana@example.org'],
    ['  Ana@Example.ORG\n', 'ana@example.org'],
    ['jose\u0301@example.org', 'jos\u00e9@example.org'],
    ['\u212Aelvin@example.org', 'kelvin@example.org'],
    ['a@b\u00fccher.example', 'a@xn--bcher-kva.example'],
    ['a@XN--BCHER-KVA.example', 'a@xn--bcher-kva.example'],
    ['a@\uff45xample.org', 'a@example.org'],
    ['a@example\u3002org', 'a@example.org'],
    ['a+tag@example.org', 'a+tag@example.org'],
    ['a.b@example.org', 'a.b@example.org'],
    ['\u7528\u6237@\u4f8b\u5b50.example', '\u7528\u6237@xn--fsqu00a.example'],
    ["!#$%&'*+/=^?_`{|}~-@example.org", "!#$%&'*+/=^?_`{|}~-@example.org"],
    ['+AGE-@example.org', '+age-@example.org'],
    ['\u0130@example.org', 'i\u0307@example.org'],
    ['\u0131@example.org', '\u0131@example.org'],
    ['a@fa\u00df.example', 'a@xn--fa-hia.example'],
    ['a@ex\u0430mple.org', 'a@xn--exmple-4nf.org'],
    [`${'a'.repeat(64)}@example.org`, `${'a'.repeat(64)}@example.org`],
  ] as const)('%s', ([typed, canonical]) => {
    expect(canonicalEmail(typed)).toBe(canonical)
    expect(EmailAddress.parse(typed)).toBe(typed.trim())
  })
})

describe('gives no canonical form to an address that we do not accept:', () => {
  const longDomain = `${'b.'.repeat(125)}org`
  test.for([
    ...[
      '',
      ' ',
      '@',
      'a',
      'a@',
      '@b.org',
      'a@b@c.org',
      'a@localhost',
      'a@b..c',
      'a@.b.org',
      'a@b.org.',
      'a@-b.org',
      'a@b-.org',
    ],
    ...[
      'a@[127.0.0.1]',
      'a@[IPv6:::1]',
      'a@127.0.0.1',
      'a@0x7f.1',
      'a@1',
      'a@b.1',
      'a@b_c.org',
      'a@b.org:25',
      'a@b.org/x',
      'a@b.org?x',
    ],
    ...[
      '"a b"@x.org',
      '"x@gmail.com y"@internal.org',
      'a b@x.org',
      '.a@x.org',
      'a.@x.org',
      'a..b@x.org',
      'a\\@x.org',
      '(a)a@x.org',
    ],
    ...['<a@x.org>', '"n" <a@x.org>', 'a@x.org,evil@z.org', 'a@x.org;b@x.org', 'mailto:a@x.org'],
    ...[
      'a@x.org\r\nBcc: e@z.org',
      'a\n@x.org',
      'a\0@x.org',
      'a@x.org\0',
      'a\u2028@x.org',
      'a\u00a0b@x.org',
      'a@x.org%0d%0a',
    ],
    ...[
      'a\u200bb@x.org',
      'a\u200d@x.org',
      'a\u00ad@x.org',
      'a\u202eb@x.org',
      'a\u2066@x.org',
      'a\ufeffb@x.org',
      'a\u{e0041}@x.org',
    ],
    ...[
      '=?utf-8?q?a=40evil.org?=@x.org',
      'a\ud800@x.org',
      'a\ue000@x.org',
      'a\uffff@x.org',
      'a@x\u00ad.org',
      'a@a\u200db.org',
      'a@\u2460\u24d0.org',
      'a@\u{1f4a9}.la',
    ],
    ...[
      'a@xn--a',
      'a@xn--a.org',
      'a@xn--.org',
      'a@xn--0.org',
      'a@ok.xn--a-.org',
      'a@%65xample.org',
      'a@b\\c.org',
      'a@b c.org',
    ],
    ...[
      `${'a'.repeat(65)}@x.org`,
      `${'\u00fc'.repeat(33)}@x.org`,
      `a@${'b'.repeat(64)}.org`,
      `a@${longDomain}`,
    ],
  ])('%j', (typed) => {
    expect(canonicalEmail(typed)).toBeUndefined()
    expect(EmailAddress.safeParse(typed).success).toBe(false)
  })
})

describe('for any input', () => {
  const RUNS = { numRuns: 20_000 }
  const of = (characters: string, maxLength: number) =>
    fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength })
  const binary = fc.string({ unit: 'binary', maxLength: 20 })
  const graphemes = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 })
  const ODD = '\u00fc\u00df\u0130\u0131\u212a\u03a3\u0430\uff41\u01c5\u1e9e'
  const local = fc.oneof(of(`aBzk09+_-.${ODD}\u0301\u0327`, 12), graphemes, binary)
  const label = fc.oneof(
    of('aBz09', 8),
    of(`aBz09-${ODD}`, 8),
    of(`a${ODD}\u3002.\u00ad\u200d\u{1f4a9}\u0301`, 8),
    graphemes,
  )
  const domain = fc
    .tuple(
      fc.array(label, { minLength: 1, maxLength: 2 }),
      fc.constantFrom('org', 'Example', '\u0440\u0444', 'xn--p1ai', '1'),
    )
    .map(([labels, last]) => [...labels, last].join('.'))
  const address = fc.tuple(local, domain).map((parts) => parts.join('@'))
  const typed = fc.oneof({ arbitrary: address, weight: 8 }, { arbitrary: binary, weight: 1 })

  test('the examples are not all refused', () => {
    const accepted = fc.sample(typed, 2_000).filter((text) => canonicalEmail(text) !== undefined)
    expect(accepted.length).toBeGreaterThan(300)
  })

  // One property, since generating texts and each call of `expect` cost more than what is tested.
  test('the canonical form is its own canonical form; its domain is the one that was typed, as IDNA has it; and it has one @, no blank, no control character and at most 254 octets', () => {
    fc.assert(
      fc.property(typed, (text) => {
        const canonical = canonicalEmail(text)
        if (canonical === undefined) return true
        const typedDomain = text.trim().slice(text.trim().lastIndexOf('@') + 1)
        return (
          canonicalEmail(canonical) === canonical &&
          canonical.slice(canonical.lastIndexOf('@') + 1) === domainToASCII(typedDomain) &&
          /^[^@\s\p{C}]+@[a-z0-9.-]+$/u.test(canonical) &&
          Buffer.byteLength(canonical) <= 254
        )
      }),
      RUNS,
    )
  })

  test('capitals make no difference', () => {
    const ascii = fc.stringMatching(/^[A-Za-z0-9+._-]{1,20}@[A-Za-z0-9-]{1,20}\.[A-Za-z]{2,8}$/)
    fc.assert(
      fc.property(ascii, (text) => canonicalEmail(text.toUpperCase()) === canonicalEmail(text)),
      RUNS,
    )
  })
})
