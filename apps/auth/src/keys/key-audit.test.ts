import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AuditRow, buildNextRow } from '../audit/audit-chain.ts'
import { computeAuditedStates, type KeyAuditEntry, verifyKeyAudit } from './key-audit.ts'

const entry = (n: number): KeyAuditEntry => ({
  at: '2026-11-20T09:00:00.000Z',
  by: { user: 'rosa', host: 'desk' },
  step: 'publish',
  ring_version: n,
  transitions: [{ kid: `key-${n % 3}`, from: 'generated', to: 'published' }],
})
function chain(length: number): AuditRow[] {
  const rows: AuditRow[] = []
  for (let n = 1; n <= length; n += 1) rows.push(buildNextRow(rows.at(-1), entry(n)))
  return rows
}
const encodeHead = (rows: readonly AuditRow[]) => rows.at(-1)?.hash.toString('base64url') ?? ''

test('accepts an untouched chain, also against an older head', () => {
  const rows = chain(5)
  expect(verifyKeyAudit(rows)).toMatchObject({ ok: true, value: { head: encodeHead(rows), newer: 0 } })
  expect(verifyKeyAudit(rows, encodeHead(rows.slice(0, 3)))).toMatchObject({ ok: true, value: { newer: 2 } })
  expect(verifyKeyAudit([])).toMatchObject({ ok: true, value: { head: undefined } })
})

describe('finds', () => {
  const rows = chain(6)
  const head = encodeHead(rows)
  test('a row in which any column was edited', () => {
    fc.assert(
      fc.property(fc.nat(5), fc.nat(), fc.constantFrom('entry', 'hash' as const), (index, bit, part) => {
        const edited = rows.map((row, n) => {
          if (n !== index) return row
          const bytes = Buffer.from(row[part])
          const place = Math.floor(bit / 8) % bytes.length
          bytes.writeUInt8(bytes.readUInt8(place) ^ (1 << (bit % 7)), place)
          return { ...row, [part]: part === 'entry' ? bytes.toString() : bytes }
        })
        expect(verifyKeyAudit(edited, head).ok).toBe(false)
      }),
    )
  })
  test('a row that was removed, from wherever', () => {
    for (const row of rows)
      expect(
        verifyKeyAudit(
          rows.filter((each) => each !== row),
          head,
        ).ok,
      ).toBe(false)
  })
  test('rows that were renumbered after one was removed', () => {
    const renumbered = rows.filter((row) => row.number !== 3).map((row, n) => ({ ...row, number: n + 1 }))
    expect(verifyKeyAudit(renumbered).ok).toBe(false)
  })
  test('two rows that were exchanged', () => {
    const [one, two, ...rest] = rows as [AuditRow, AuditRow, ...AuditRow[]]
    expect(verifyKeyAudit([{ ...two, number: 1 }, { ...one, number: 2 }, ...rest]).ok).toBe(false)
  })
  test('an end that was cut off, only with the head', () => {
    expect(verifyKeyAudit(rows.slice(0, 4)).ok).toBe(true)
    expect(verifyKeyAudit(rows.slice(0, 4), head).ok).toBe(false)
    expect(verifyKeyAudit([], head).ok).toBe(false)
  })
})

test('computes the state of each key', () => {
  const rows = [entry(1), { ...entry(2), transitions: [{ kid: 'key-1', from: 'published', to: 'signing' }] }]
  expect(computeAuditedStates(rows as KeyAuditEntry[])).toEqual(new Map([['key-1', 'signing']]))
})
