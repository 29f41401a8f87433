import { expect, test } from 'vitest'
import { findLicenceBreaches } from './check-licences.ts'

test('accepts packages under licences of the list', () => {
  expect(findLicenceBreaches({ MIT: [{ name: 'one' }], 'MIT OR Apache-2.0': [{ name: 'two' }] })).toEqual([])
})

test.for([['GPL-3.0-only'], ['MIT AND GPL-2.0-only'], ['SEE LICENSE IN LICENSE.md'], ['Unknown']])(
  'names every package under %s',
  ([licence]) => {
    const breach = (name: string) => `${name}: ${licence} is not on the list of scripts/check-licences.ts`
    expect(
      findLicenceBreaches({ MIT: [{ name: 'one' }], [`${licence}`]: [{ name: 'two' }, { name: 'three' }] }),
    ).toEqual([breach('two'), breach('three')])
  },
)
