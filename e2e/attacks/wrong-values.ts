import fc from 'fast-check'

/** Strings of kinds that often break parsers, stores, pages and logs. */
export const NASTY_TEXTS: readonly string[] = [
  '',
  ' ',
  '0',
  '-1',
  '1e400',
  'NaN',
  'null',
  'true',
  '[]',
  '{}',
  '{"toString":1}',
  "' or 1=1 --",
  "'); drop table agents; --",
  '$1',
  '%00',
  '%zz',
  '%',
  '\\',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  '{{7*7}} ${7*7}',
  'a\r\nSet-Cookie: a=b',
  'a\nb',
  'a\tb',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'a\udfffb',
  '\ufeff',
  '\u202e',
  '\u2028',
  '\u200b',
  '\u0130',
  '\u212a',
  '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}',
  'e\u0301'.repeat(60),
  '\u{10ffff}',
  '__proto__',
  'constructor',
  'toString',
  'x'.repeat(101),
  'x'.repeat(201),
  'x'.repeat(5_000),
  '\u{1f600}'.repeat(201),
  '(a+)+$',
  `${'a@'.repeat(100)}b`,
  '=cmd()',
  'eyJhbGciOiJub25lIn0.e30.',
  `ppt_${'A'.repeat(43)}`,
]

/** Pairs of a description and a value: values of every JSON type, and values that look like another type. */
export const WRONG_TYPES: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['zero', 0],
  ['a number', 42],
  ['a fraction', 1.5],
  ['a negative number', -1],
  ['the largest exact number', Number.MAX_SAFE_INTEGER],
  ['a number past it', 2 ** 53],
  ['an empty text', ''],
  ['a number as text', '42'],
  ['an empty list', []],
  ['a list of text', ['ana@example.org']],
  ['a list of lists', [[['x']]]],
  ['an empty object', {}],
  ['an object that turns into text', { toString: 'ana@example.org' }],
  ['an object with a length', { length: 3 }],
  ['an object like an address', { email: 'ana@example.org' }],
]

/** Generates strings, with a preference for dangerous ones. */
export const anyText = fc.oneof(
  fc.constantFrom(...NASTY_TEXTS),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 260 }),
  fc.emailAddress(),
)

/** Generates any JSON value, with a preference for dangerous ones. */
export const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  anyText,
  fc.constantFrom(...WRONG_TYPES.map(([, value]) => value)),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.array(anyText, { maxLength: 4 }),
  fc.dictionary(fc.constantFrom('a', 'email', 'toString', '__proto__', '\u0000'), anyText, { maxKeys: 3 }),
  fc.jsonValue({ maxDepth: 4 }),
  // The service accepts up to 16 levels.
  fc.integer({ min: 1, max: 40 }).map((depth) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)),
)

/** Generates header values that Node can send. */
export const anyHeaderValue = fc.oneof(
  fc.constantFrom(
    '',
    '*',
    '*/*',
    'text/html',
    'a'.repeat(4_000),
    '"',
    "'",
    ',,,',
    ';;;',
    'é',
    '%00',
    'a, b, c',
    '-1',
  ),
  fc
    .string({ unit: 'binary-ascii', maxLength: 60 })
    .map((value) => value.replaceAll(/[^\x20-\x7e]/g, '').trim()),
)
