import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Ended, readNotice, writeEnded } from './notice.ts'

const word = fc.stringMatching(/^[\w-]{1,50}$/)
const ended: fc.Arbitrary<Ended> = fc.oneof(
  fc.record({ kind: fc.constant('token' as const), hash: word }),
  fc.record({ kind: fc.constant('client' as const), id: word }),
  fc.constant({ kind: 'everything' as const }),
)

test('a notice is read as it was written', () => {
  fc.assert(
    fc.property(word, fc.nat(), ended, (mark, number, what) => {
      expect(readNotice(`${mark} ${number} ${writeEnded(what)}`)).toEqual({ mark, number, ended: what })
    }),
  )
})

test.for(['scope guides:read', 'token', 'token two words', 'Token a', 'everything else'])(
  'one that names %o, which we do not know, ends everything',
  (names) => {
    expect(readNotice(`mark 3 ${names}`)).toEqual({ mark: 'mark', number: 3, ended: { kind: 'everything' } })
  },
)

test.for(['', 'mark', 'mark 3', 'mark 3 ', 'mark x everything', 'mark -1 everything', 'mark 1.5 everything'])(
  '%o is no notice',
  (text) => {
    expect(readNotice(text)).toBeUndefined()
  },
)
