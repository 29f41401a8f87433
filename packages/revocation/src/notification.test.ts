import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatRevocation, parseNotification, type Revocation } from './notification.ts'

const identifier = fc.stringMatching(/^[\w-]{1,50}$/)
const revocations: fc.Arbitrary<Revocation> = fc.oneof(
  fc.record({ kind: fc.constant('token' as const), hash: identifier }),
  fc.record({ kind: fc.constant('client' as const), id: identifier }),
  fc.constant({ kind: 'everything' as const }),
)

test('parses each revocation as it was formatted', () => {
  fc.assert(
    fc.property(identifier, fc.nat(), revocations, (mark, number, revoked) => {
      expect(parseNotification(`${mark} ${number} ${formatRevocation(revoked)}`)).toEqual({
        mark,
        number,
        revoked,
      })
    }),
  )
})

test.for(['scope guides:read', 'token', 'token two words', 'Token a', 'everything else'])(
  'parses the unknown revocation %o as everything',
  (revocation) => {
    expect(parseNotification(`mark 3 ${revocation}`)).toEqual({
      mark: 'mark',
      number: 3,
      revoked: { kind: 'everything' },
    })
  },
)

test.for(['', 'mark', 'mark 3', 'mark 3 ', 'mark x everything', 'mark -1 everything', 'mark 1.5 everything'])(
  'returns undefined for %o, which is not a notification',
  (text) => {
    expect(parseNotification(text)).toBeUndefined()
  },
)
