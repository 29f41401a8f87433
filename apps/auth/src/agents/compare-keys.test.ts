import type { AgentKey } from '@plainpath/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exampleKey } from '../../test/example-key.ts'
import { compareKeys } from './compare-keys.ts'

const PAIRS = ['one', 'two', 'three', 'four'].map((name) => exampleKey(name))
/** A set of some of the pairs, by their number; the same pair may have another `kid` each time. */
const sets = fc.uniqueArray(fc.record({ pair: fc.nat(PAIRS.length - 1), kid: fc.string() }), {
  minLength: 1,
  maxLength: 3,
  selector: ({ pair }) => pair,
})
type KeySet = readonly { readonly pair: number; readonly kid: string }[]
const keysOf = (set: KeySet) => set.map(({ pair, kid }): AgentKey => ({ ...PAIRS[pair]!, kid }))
const has = (set: KeySet, number: number) => set.some(({ pair }) => pair === number)

test('reports removed keys and new keys without a proof, whatever their kids', () => {
  fc.assert(
    fc.property(sets, sets, sets, (before, after, proven) => {
      const proofs = keysOf(proven).map((key) => ({ key }))
      expect(compareKeys(keysOf(before), keysOf(after), proofs)).toEqual({
        removes: before.some(({ pair }) => !has(after, pair)),
        unproven: after.filter(({ pair }) => !has(before, pair) && !has(proven, pair)).map(({ kid }) => kid),
      })
    }),
  )
})

test('reports a secret as removed when keys replace it', () => {
  expect(compareKeys([], [exampleKey('one')], [])).toEqual({ removes: true, unproven: ['one'] })
})
