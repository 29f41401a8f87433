import { err, ok } from '@plainpath/domain'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readCredentials } from './read-credentials.ts'

type Read = ReturnType<typeof readCredentials>

const basic = (text: string, scheme = 'Basic') => `${scheme} ${Buffer.from(text).toString('base64')}`
const form = (fields: Record<string, string>) => new URLSearchParams(fields)
const BOTH: Read = ok({ clientId: 'agt_1', secret: 'pps_1' })

describe('the Authorization header', () => {
  test.for([
    ['the usual form', basic('agt_1:pps_1'), BOTH],
    ['another case of the scheme', basic('agt_1:pps_1', 'bAsIc'), BOTH],
    ['two blanks', basic('agt_1:pps_1', 'Basic '), BOTH],
    ['an encoded id and secret', basic('agt%5f1:pps%5F1'), BOTH],
    ['a plus for a blank', basic('a+b:c+d'), ok({ clientId: 'a b', secret: 'c d' })],
    ['an encoded colon in the id', basic('a%3Ab:c'), ok({ clientId: 'a:b', secret: 'c' })],
    ['a colon in the secret', basic('a:b:c'), ok({ clientId: 'a', secret: 'b:c' })],
    ['no padding', basic('agt_1:pps_12').replace(/=+$/, ''), ok({ clientId: 'agt_1', secret: 'pps_12' })],
  ] satisfies [string, string, Read][])('is read with %s', ([_why, header, expected]) => {
    expect(readCredentials([header])).toEqual(expected)
  })

  test.for([
    ['nothing', ''],
    ['the scheme alone', 'Basic'],
    ['the scheme and a blank', 'Basic '],
    ['another scheme', basic('agt_1:pps_1', 'Bearer')],
    ['the credentials without a scheme', 'YWd0XzE6cHBzXzE='],
    ['a value that is not base64', 'Basic agt_1:pps_1'],
    ['base64url', 'Basic YT8_OmI-Pw'],
    ['something behind it', `${basic('agt_1:pps_1')} x`],
    ['two of them in one', `${basic('agt_1:pps_1')}, ${basic('agt_1:pps_1')}`],
    ['no colon', basic('agt_1')],
    ['no id', basic(':pps_1')],
    ['no secret', basic('agt_1:')],
    ['neither', basic(':')],
    ['a bad escape', basic('agt_1:%zz')],
    ['an escape that is no UTF-8', basic('agt_1:%ff')],
    ['NUL', basic('agt_1:a\0b')],
    ['an encoded NUL', basic('agt_1:a%00b')],
    ['a line break', basic('agt_1:a%0d%0ab')],
    ['other letters', basic('agt_1:pässword')],
    ['8 kB', basic(`agt_1:${'x'.repeat(8192)}`)],
  ] satisfies [string, string][])('is malformed with %s', ([_why, header]) => {
    expect(readCredentials([header])).toEqual(err('malformed'))
  })
})

test.for([
  ['nothing at all', [], undefined, err('none')],
  ['an empty body', [], {}, err('none')],
  ['id and secret in the body', [], { client_id: 'agt_1', client_secret: 'pps_1' }, BOTH],
  ['an id without a secret', [], { client_id: 'agt_1' }, err('none')],
  ['an id with an empty secret', [], { client_id: 'agt_1', client_secret: '' }, err('none')],
  ['a secret without an id', [], { client_secret: 'pps_1' }, err('none')],
  ['the header and the same id in the body', [basic('agt_1:pps_1')], { client_id: 'agt_1' }, BOTH],
  ['the header and another id in the body', [basic('agt_1:pps_1')], { client_id: 'agt_2' }, err('mismatch')],
  ['the header and an empty id in the body', [basic('agt_1:pps_1')], { client_id: '' }, err('mismatch')],
  ['the header and a secret in the body', [basic('agt_1:pps_1')], { client_secret: 'pps_1' }, err('several')],
  ['two headers', [basic('agt_1:pps_1'), basic('agt_1:pps_1')], undefined, err('several')],
  [
    'a malformed header beside a good body',
    ['Basic x'],
    { client_id: 'agt_1', client_secret: 'pps_1' },
    err('several'),
  ],
] satisfies [string, string[], Record<string, string> | undefined, Read][])(
  '%s',
  ([_why, headers, fields, expected]) => {
    expect(readCredentials(headers, fields && form(fields))).toEqual(expected)
  },
)

test('returns a result for any input and never throws', () => {
  const header = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 2_000 }),
    fc.uint8Array({ maxLength: 1_500 }).map((bytes) => `Basic ${Buffer.from(bytes).toString('base64')}`),
    fc.string({ unit: 'grapheme' }).map((text) => basic(text)),
  )
  const fields = fc.dictionary(fc.constantFrom('client_id', 'client_secret', 'other'), fc.string())
  fc.assert(
    fc.property(fc.array(header, { maxLength: 3 }), fc.option(fields), (headers, sent) => {
      const read = readCredentials(headers, sent ? form(sent) : undefined)
      if (read.ok) expect(Object.values(read.value)).not.toContain('')
      else expect(['none', 'malformed', 'several', 'mismatch']).toContain(read.error)
    }),
    { numRuns: 2_000 },
  )
})

test('decodes the encoding of RFC 6749 appendix B', () => {
  const printable = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
    maxLength: 60,
  })
  const encode = (text: string) => new URLSearchParams({ x: text }).toString().slice(2)
  fc.assert(
    fc.property(printable, printable, (clientId, secret) => {
      expect(readCredentials([basic(`${encode(clientId)}:${encode(secret)}`)])).toEqual(
        ok({ clientId, secret }),
      )
    }),
  )
})
