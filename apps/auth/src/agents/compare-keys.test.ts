import type { AgentKey } from '@plainpath/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createExampleKey } from '../../test/example-key.ts'
import { compareKeys } from './compare-keys.ts'

const PAIRS = ['one', 'two', 'three', 'four'].map((name) => createExampleKey(name))
/** Sets of one to three keys. `pair` is an index of `PAIRS`, and `kid` is any string. */
const keySets = fc.uniqueArray(fc.record({ pair: fc.nat(PAIRS.length - 1), kid: fc.string() }), {
  minLength: 1,
  maxLength: 3,
  selector: ({ pair }) => pair,
})
type KeySet = readonly { readonly pair: number; readonly kid: string }[]
const toKeys = (set: KeySet) => set.map(({ pair, kid }): AgentKey => ({ ...PAIRS[pair]!, kid }))
const hasPair = (set: KeySet, index: number) => set.some(({ pair }) => pair === index)

test('reports removed keys and new keys without a proof, regardless of their kids', () => {
  fc.assert(
    fc.property(keySets, keySets, keySets, (before, after, proven) => {
      const proofs = toKeys(proven).map((key) => ({ key }))
      expect(compareKeys(toKeys(before), toKeys(after), proofs)).toEqual({
        isCredentialRemoved: before.some(({ pair }) => !hasPair(after, pair)),
        unproven: after
          .filter(({ pair }) => !hasPair(before, pair) && !hasPair(proven, pair))
          .map(({ kid }) => kid),
      })
    }),
  )
})

test('reports a secret as removed when keys replace it', () => {
  expect(compareKeys([], [createExampleKey('one')], [])).toEqual({
    isCredentialRemoved: true,
    unproven: ['one'],
  })
})
