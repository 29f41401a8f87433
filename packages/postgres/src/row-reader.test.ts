import { expect, test } from 'vitest'
import { z } from 'zod'
import { createRowReader } from './row-reader.ts'

const tokenReader = createRowReader(
  z.object({ id: z.string(), issuedAt: z.date(), claimId: z.string().optional(), uses: z.int().default(0) }),
)
const row = { id: 'one', issued_at: new Date(0), claim_id: null, uses: null }

test('reads the columns that the members of the type name, and leaves out a null or replaces it with the default', () => {
  expect(tokenReader.columns).toBe('id, issued_at, claim_id, uses')
  expect(tokenReader.parse(row)).toStrictEqual({ id: 'one', issuedAt: new Date(0), uses: 0 })
  expect(tokenReader.parse({ ...row, claim_id: 'clm', uses: 2, other: 1 })).toEqual({
    id: 'one',
    issuedAt: new Date(0),
    claimId: 'clm',
    uses: 2,
  })
})

test.for([{ issued_at: null }, { id: 1 }, { claim_id: 3 }, { uses: 'two' }])(
  'refuses a row with %o',
  (change) => {
    expect(() => tokenReader.parse({ ...row, ...change })).toThrow(z.ZodError)
  },
)
