import { expect, test } from 'vitest'
import { licenceBreaches } from './check-licences.ts'

const licensed = (...licenses: string[]) => [{ name: 'one', version: '1.0.0', licenses }]

test.for([['MIT'], ['MIT', 'ISC'], ['GPL-3.0-only OR MIT'], ['(MIT AND BSD-2-Clause)']])(
  'passes %s',
  (licenses) => {
    expect(licenceBreaches(licensed(...licenses))).toEqual([])
  },
)

test.for([
  [['GPL-3.0-only'], 'GPL-3.0-only'],
  [['MIT', 'AGPL-3.0-only'], 'MIT and AGPL-3.0-only'],
  [['MIT AND GPL-2.0-only'], 'MIT AND GPL-2.0-only'],
  [['SEE LICENSE IN LICENSE.md'], 'SEE LICENSE IN LICENSE.md'],
  [[], 'no licence'],
] as const)('catches %s', ([licenses, named]) => {
  expect(licenceBreaches(licensed(...licenses))).toEqual([
    `one@1.0.0: ${named} is not on the list of scripts/check-licences.ts`,
  ])
})

test('leaves the packages of the workspace alone, and no others without a licence', () => {
  expect(licenceBreaches([{ group: '@plainpath', name: 'auth', licenses: [] }])).toEqual([])
  expect(licenceBreaches([{ group: '@plainpath-evil', name: 'auth', licenses: [] }])).toHaveLength(1)
})
