import { err, ok } from '@plainpath/domain'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readCredentials } from './read-credentials.ts'

type ReadResult = ReturnType<typeof readCredentials>

const formatBasic = (text: string, scheme = 'Basic') => `${scheme} ${Buffer.from(text).toString('base64')}`
const createForm = (fields: Record<string, string>) => new URLSearchParams(fields)
const HEADER = formatBasic('agt_1:pps_1')
const CREDENTIALS: ReadResult = ok({ clientId: 'agt_1', secret: 'pps_1' })

describe('the Authorization header', () => {
  test.for([
    ['the usual form', formatBasic('agt_1:pps_1'), CREDENTIALS],
    ['another case of the scheme', formatBasic('agt_1:pps_1', 'bAsIc'), CREDENTIALS],
    ['two spaces', formatBasic('agt_1:pps_1', 'Basic '), CREDENTIALS],
    ['an encoded id and secret', formatBasic('agt%5f1:pps%5F1'), CREDENTIALS],
    ['a plus for a space', formatBasic('a+b:c+d'), ok({ clientId: 'a b', secret: 'c d' })],
    ['an encoded colon in the id', formatBasic('a%3Ab:c'), ok({ clientId: 'a:b', secret: 'c' })],
    ['a colon in the secret', formatBasic('a:b:c'), ok({ clientId: 'a', secret: 'b:c' })],
    [
      'no padding',
      formatBasic('agt_1:pps_12').replace(/=+$/, ''),
      ok({ clientId: 'agt_1', secret: 'pps_12' }),
    ],
  ] satisfies [string, string, ReadResult][])('is decoded with %s', ([_case, header, expected]) => {
    expect(readCredentials([header])).toEqual(expected)
  })

  test.for([
    ['an empty value', ''],
    ['the scheme alone', 'Basic'],
    ['the scheme and a space', 'Basic '],
    ['another scheme', formatBasic('agt_1:pps_1', 'Bearer')],
    ['the credentials without a scheme', 'YWd0XzE6cHBzXzE='],
    ['a value that is not base64', 'Basic agt_1:pps_1'],
    // `a??:b>?`, whose encodings in base64 and base64url differ.
    ['base64url', 'Basic YT8_OmI-Pw'],
    ['text after the credentials', `${formatBasic('agt_1:pps_1')} x`],
    ['two credentials in one header', `${formatBasic('agt_1:pps_1')}, ${formatBasic('agt_1:pps_1')}`],
    ['no colon', formatBasic('agt_1')],
    ['no id', formatBasic(':pps_1')],
    ['no secret', formatBasic('agt_1:')],
    ['neither id nor secret', formatBasic(':')],
    ['a bad escape', formatBasic('agt_1:%zz')],
    ['an escape that is not UTF-8', formatBasic('agt_1:%ff')],
    ['NUL', formatBasic('agt_1:a\0b')],
    ['an encoded NUL', formatBasic('agt_1:a%00b')],
    ['a line break', formatBasic('agt_1:a%0d%0ab')],
    ['a letter outside ASCII', formatBasic('agt_1:pässword')],
    ['credentials of more than 8 kB', formatBasic(`agt_1:${'x'.repeat(8192)}`)],
  ] satisfies [string, string][])('is malformed with %s', ([_case, header]) => {
    expect(readCredentials([header])).toEqual(err('malformed'))
  })
})

test.for([
  ['no header and no body', [], undefined, err('none')],
  ['an empty body', [], {}, err('none')],
  ['id and secret in the body', [], { client_id: 'agt_1', client_secret: 'pps_1' }, CREDENTIALS],
  ['an id without a secret', [], { client_id: 'agt_1' }, err('none')],
  ['an id with an empty secret', [], { client_id: 'agt_1', client_secret: '' }, err('none')],
  ['a secret without an id', [], { client_secret: 'pps_1' }, err('none')],
  ['the header and the same id in the body', [HEADER], { client_id: 'agt_1' }, CREDENTIALS],
  ['the header and another id in the body', [HEADER], { client_id: 'agt_2' }, err('mismatch')],
  ['the header and an empty id in the body', [HEADER], { client_id: '' }, CREDENTIALS],
  ['the header and a secret in the body', [HEADER], { client_secret: 'pps_1' }, err('several')],
  ['two headers', [HEADER, HEADER], undefined, err('several')],
  [
    'a malformed header and credentials in the body',
    ['Basic x'],
    { client_id: 'agt_1', client_secret: 'pps_1' },
    err('several'),
  ],
] satisfies [string, string[], Record<string, string> | undefined, ReadResult][])(
  'readCredentials returns the credentials or the fault for %s',
  ([_case, headers, fields, expected]) => {
    expect(readCredentials(headers, fields && createForm(fields))).toEqual(expected)
  },
)

test('readCredentials returns either a fault or credentials with no empty part, for any input', () => {
  const header = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 2_000 }),
    fc.uint8Array({ maxLength: 1_500 }).map((bytes) => `Basic ${Buffer.from(bytes).toString('base64')}`),
    fc.string({ unit: 'grapheme' }).map((text) => formatBasic(text)),
  )
  const fields = fc.dictionary(fc.constantFrom('client_id', 'client_secret', 'other'), fc.string())
  fc.assert(
    fc.property(fc.array(header, { maxLength: 3 }), fc.option(fields), (headers, bodyFields) => {
      const result = readCredentials(headers, bodyFields ? createForm(bodyFields) : undefined)
      if (result.ok) expect(Object.values(result.value)).not.toContain('')
      else expect(['none', 'malformed', 'several', 'mismatch']).toContain(result.error)
    }),
    { numRuns: 2_000 },
  )
})

test('readCredentials decodes form-urlencoded ids and secrets (RFC 6749 appendix B)', () => {
  const printable = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
    maxLength: 60,
  })
  const encode = (text: string) => new URLSearchParams({ x: text }).toString().slice(2)
  fc.assert(
    fc.property(printable, printable, (clientId, secret) => {
      expect(readCredentials([formatBasic(`${encode(clientId)}:${encode(secret)}`)])).toEqual(
        ok({ clientId, secret }),
      )
    }),
  )
})
