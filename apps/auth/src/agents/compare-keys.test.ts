import type { AgentKey } from '@plainpath/domain'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createExampleKey } from '../../test/example-key.ts'
import { compareKeys } from './compare-keys.ts'

const KEYS = ['one', 'two', 'three', 'four'].map((name) => createExampleKey(name))
/** Sets of one to three keys. `keyIndex` is an index of `KEYS`, and `kid` is any string. */
const keySets = fc.uniqueArray(fc.record({ keyIndex: fc.nat(KEYS.length - 1), kid: fc.string() }), {
  minLength: 1,
  maxLength: 3,
  selector: ({ keyIndex }) => keyIndex,
})
type KeySet = readonly { readonly keyIndex: number; readonly kid: string }[]
const toKeys = (set: KeySet) => set.map(({ keyIndex, kid }): AgentKey => ({ ...KEYS[keyIndex]!, kid }))
const hasKey = (set: KeySet, index: number) => set.some(({ keyIndex }) => keyIndex === index)

test('compareKeys reports removed keys and new keys without a proof, regardless of their kids', () => {
  fc.assert(
    fc.property(keySets, keySets, keySets, (before, after, proven) => {
      const proofs = toKeys(proven).map((key) => ({ key }))
      expect(compareKeys(toKeys(before), toKeys(after), proofs)).toEqual({
        isCredentialRemoved: before.some(({ keyIndex }) => !hasKey(after, keyIndex)),
        unproven: after
          .filter(({ keyIndex }) => !hasKey(before, keyIndex) && !hasKey(proven, keyIndex))
          .map(({ kid }) => kid),
      })
    }),
  )
})

test('compareKeys reports a secret as removed when keys replace it', () => {
  expect(compareKeys([], [createExampleKey('one')], [])).toEqual({
    isCredentialRemoved: true,
    unproven: ['one'],
  })
})
