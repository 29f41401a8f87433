import { domainToASCII } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalizeEmail, EmailAddress } from './email-address.ts'

describe('the canonical form is the same for different spellings of a mailbox:', () => {
  test.for([
    ['ana@example.org', 'ana@example.org'],
    ['  Ana@Example.ORG\n', 'ana@example.org'],
    // An accent as a character of its own, and the Kelvin sign, whose lower case is `k`.
    ['jose\u0301@example.org', 'jos\u00e9@example.org'],
    ['\u212Aelvin@example.org', 'kelvin@example.org'],
    // Domains: an umlaut in both spellings, a full-width letter, and an ideographic full stop.
    ['a@b\u00fccher.example', 'a@xn--bcher-kva.example'],
    ['a@XN--BCHER-KVA.example', 'a@xn--bcher-kva.example'],
    ['a@\uff45xample.org', 'a@example.org'],
    ['a@example\u3002org', 'a@example.org'],
    // Plus-tags and dots stay, because some providers treat them as different mailboxes.
    ['a+tag@example.org', 'a+tag@example.org'],
    ['a.b@example.org', 'a.b@example.org'],
    ['\u7528\u6237@\u4f8b\u5b50.example', '\u7528\u6237@xn--fsqu00a.example'],
    ["!#$%&'*+/=^?_`{|}~-@example.org", "!#$%&'*+/=^?_`{|}~-@example.org"],
    // The UTF-7 spelling of `a` is not decoded.
    ['+AGE-@example.org', '+age-@example.org'],
    // The Turkish dotted capital and dotless small I, a sharp s, and a Cyrillic letter that looks like `a`.
    ['\u0130@example.org', 'i\u0307@example.org'],
    ['\u0131@example.org', '\u0131@example.org'],
    ['a@fa\u00df.example', 'a@xn--fa-hia.example'],
    ['a@ex\u0430mple.org', 'a@xn--exmple-4nf.org'],
    [`${'a'.repeat(64)}@example.org`, `${'a'.repeat(64)}@example.org`],
  ] as const)('%s', ([typedAddress, canonical]) => {
    expect(canonicalizeEmail(typedAddress)).toBe(canonical)
    expect(EmailAddress.parse(typedAddress)).toBe(typedAddress.trim())
  })
})

describe('there is no canonical form of an address that we do not accept:', () => {
  const longDomain = `${'b.'.repeat(125)}org`
  test.for([
    // No local part or no single domain, and domains without a dot, with an empty label or with a misplaced hyphen.
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
    // IP addresses in any spelling, and what a URL may have but a domain may not.
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
    // Quoted local parts, misplaced dots, escapes and comments.
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
    // Display names, lists and links.
    ...['<a@x.org>', '"n" <a@x.org>', 'a@x.org,evil@z.org', 'a@x.org;b@x.org', 'mailto:a@x.org'],
    // Line breaks, which could add a header to a mail, other control characters and blanks.
    ...[
      'a@x.org\r\nBcc: e@z.org',
      'a\n@x.org',
      'a\0@x.org',
      'a@x.org\0',
      'a\u2028@x.org',
      'a\u00a0b@x.org',
      'a@x.org%0d%0a',
    ],
    // Invisible characters, including those that change the direction of text.
    ...[
      'a\u200bb@x.org',
      'a\u200d@x.org',
      'a\u00ad@x.org',
      'a\u202eb@x.org',
      'a\u2066@x.org',
      'a\ufeffb@x.org',
      'a\u{e0041}@x.org',
    ],
    // An encoded word (RFC 2047), an unpaired surrogate, private and unassigned characters, and invisible characters or symbols
    // in a domain.
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
    // Invalid labels that begin with `xn--`, and characters that a domain may not have, such as those that the URL
    // parser would convert.
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
    // More than 64 octets before the `@`, 63 in a label, or 254 in all.
    ...[
      `${'a'.repeat(65)}@x.org`,
      `${'\u00fc'.repeat(33)}@x.org`,
      `a@${'b'.repeat(64)}.org`,
      `a@${longDomain}`,
    ],
  ])('%j', (typedAddress) => {
    expect(canonicalizeEmail(typedAddress)).toBeUndefined()
    expect(EmailAddress.safeParse(typedAddress).success).toBe(false)
  })
})

// Normalising many combining characters takes quadratic time, so the length is checked before it.
test('an address with more than 254 characters has no canonical form, although its NFC has at most 254 octets', () => {
  // NFC composes each of these groups of four characters to one, of three octets.
  const toAddress = (groups: number) =>
    `${'\u03b1\u0313\u0300\u0345'.repeat(groups)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(40)}.example`
  const [accepted, tooLong] = [toAddress(18), toAddress(20)]
  expect(accepted.length).toBeLessThanOrEqual(254)
  expect(canonicalizeEmail(accepted)).toBe(accepted.normalize('NFC'))
  expect(tooLong.length).toBeGreaterThan(254)
  expect(Buffer.byteLength(tooLong.normalize('NFC'))).toBeLessThanOrEqual(254)
  expect(canonicalizeEmail(tooLong)).toBeUndefined()
})

describe('of generated addresses,', () => {
  const RUNS = { numRuns: 20_000 }
  const stringOf = (characters: string, maxLength: number) =>
    fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength })
  const binary = fc.string({ unit: 'binary', maxLength: 20 })
  const graphemes = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 })
  const UNUSUAL_LETTERS = '\u00fc\u00df\u0130\u0131\u212a\u03a3\u0430\uff41\u01c5\u1e9e'
  // Mixes parts that are often accepted with any text, so that both outcomes occur.
  const localPart = fc.oneof(stringOf(`aBzk09+_-.${UNUSUAL_LETTERS}\u0301\u0327`, 12), graphemes, binary)
  const label = fc.oneof(
    stringOf('aBz09', 8),
    stringOf(`aBz09-${UNUSUAL_LETTERS}`, 8),
    stringOf(`a${UNUSUAL_LETTERS}\u3002.\u00ad\u200d\u{1f4a9}\u0301`, 8),
    graphemes,
  )
  const domain = fc
    .tuple(
      fc.array(label, { minLength: 1, maxLength: 2 }),
      fc.constantFrom('org', 'Example', '\u0440\u0444', 'xn--p1ai', '1'),
    )
    .map(([labels, topLevelDomain]) => [...labels, topLevelDomain].join('.'))
  const address = fc.tuple(localPart, domain).map((parts) => parts.join('@'))
  const typedAddresses = fc.oneof({ arbitrary: address, weight: 8 }, { arbitrary: binary, weight: 1 })

  // Otherwise the next test would hardly test anything, because it passes over addresses that are not accepted.
  test('more than 300 of 2,000 are accepted', () => {
    const accepted = fc.sample(typedAddresses, 2_000).filter((text) => canonicalizeEmail(text) !== undefined)
    expect(accepted.length).toBeGreaterThan(300)
  })

  // This is one property, because generating addresses and calling `expect` take longer than what is tested.
  test('a canonical form is stable, has the typed domain in ASCII, one @, no blank, and at most 254 octets', () => {
    fc.assert(
      fc.property(typedAddresses, (text) => {
        const canonical = canonicalizeEmail(text)
        if (canonical === undefined) return true
        const typedDomain = text.trim().slice(text.trim().lastIndexOf('@') + 1)
        return (
          canonicalizeEmail(canonical) === canonical &&
          canonical.slice(canonical.lastIndexOf('@') + 1) === domainToASCII(typedDomain) &&
          /^[^@\s\p{C}]+@[a-z0-9.-]+$/u.test(canonical) &&
          Buffer.byteLength(canonical) <= 254
        )
      }),
      RUNS,
    )
  })

  test('the canonical form does not depend on the case of ASCII letters', () => {
    const asciiAddresses = fc.stringMatching(/^[A-Za-z0-9+._-]{1,20}@[A-Za-z0-9-]{1,20}\.[A-Za-z]{2,8}$/)
    fc.assert(
      fc.property(
        asciiAddresses,
        (text) => canonicalizeEmail(text.toUpperCase()) === canonicalizeEmail(text),
      ),
      RUNS,
    )
  })
})
