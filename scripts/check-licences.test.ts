import { expect, test } from 'vitest'
import { findLicenceViolations } from './check-licences.ts'

test('accepts packages under allowed licences', () => {
  expect(findLicenceViolations({ MIT: [{ name: 'one' }], 'MIT OR Apache-2.0': [{ name: 'two' }] })).toEqual(
    [],
  )
})

test.for([['GPL-3.0-only'], ['MIT AND GPL-2.0-only'], ['SEE LICENSE IN LICENSE.md'], ['Unknown']])(
  'reports every package under %s',
  ([licence]) => {
    const violation = (name: string) => `${name}: ${licence} is not on the list of scripts/check-licences.ts`
    expect(
      findLicenceViolations({ MIT: [{ name: 'one' }], [`${licence}`]: [{ name: 'two' }, { name: 'three' }] }),
    ).toEqual([violation('two'), violation('three')])
  },
)
