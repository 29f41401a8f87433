import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AuditRow, buildNextRow } from '../audit/audit-chain.ts'
import { computeAuditedStates, type KeyAuditEntry, verifyKeyAudit } from './key-audit.ts'

/** Creates a valid entry. Its transition need not be possible, because `verifyKeyAudit` checks only the form of an entry. */
const createEntry = (ringVersion: number): KeyAuditEntry => ({
  at: '2026-11-20T09:00:00.000Z',
  by: { user: 'rosa', host: 'desk' },
  step: 'publish',
  ring_version: ringVersion,
  transitions: [{ kid: `key-${ringVersion % 3}`, from: 'generated', to: 'published' }],
})
function createChain(length: number): AuditRow[] {
  const rows: AuditRow[] = []
  for (let ringVersion = 1; ringVersion <= length; ringVersion += 1)
    rows.push(buildNextRow(rows.at(-1), createEntry(ringVersion)))
  return rows
}
const encodeHead = (rows: readonly AuditRow[]) => rows.at(-1)?.hash.toString('base64url') ?? ''

test('verifyKeyAudit accepts an unchanged chain, and counts the rows after a given head', () => {
  const rows = createChain(5)
  expect(verifyKeyAudit(rows)).toMatchObject({ ok: true, value: { head: encodeHead(rows), newerCount: 0 } })
  expect(verifyKeyAudit(rows, encodeHead(rows.slice(0, 3)))).toMatchObject({
    ok: true,
    value: { newerCount: 2 },
  })
  expect(verifyKeyAudit([])).toMatchObject({ ok: true, value: { head: undefined } })
})

describe('verifyKeyAudit rejects', () => {
  const rows = createChain(6)
  const head = encodeHead(rows)
  test('a row whose entry or hash was edited', () => {
    fc.assert(
      fc.property(fc.nat(5), fc.nat(), fc.constantFrom('entry', 'hash' as const), (index, bit, column) => {
        const editedRows = rows.map((row, rowIndex) => {
          if (rowIndex !== index) return row
          const bytes = Buffer.from(row[column])
          const offset = Math.floor(bit / 8) % bytes.length
          // The highest bit stays, so the entry remains ASCII.
          bytes.writeUInt8(bytes.readUInt8(offset) ^ (1 << (bit % 7)), offset)
          return { ...row, [column]: column === 'entry' ? bytes.toString() : bytes }
        })
        expect(verifyKeyAudit(editedRows, head).ok).toBe(false)
      }),
    )
  })
  test('a chain from which any row was removed', () => {
    for (const removedRow of rows) {
      const remainingRows = rows.filter((row) => row !== removedRow)
      expect(verifyKeyAudit(remainingRows, head).ok).toBe(false)
    }
  })
  test('rows that were renumbered after one was removed', () => {
    const remainingRows = rows.filter((row) => row.number !== 3)
    const renumberedRows = remainingRows.map((row, index) => ({ ...row, number: index + 1 }))
    expect(verifyKeyAudit(renumberedRows).ok).toBe(false)
  })
  test('two rows that were exchanged', () => {
    const [first, second, ...laterRows] = rows as [AuditRow, AuditRow, ...AuditRow[]]
    const exchangedRows = [{ ...second, number: 1 }, { ...first, number: 2 }, ...laterRows]
    expect(verifyKeyAudit(exchangedRows).ok).toBe(false)
  })
  test('a chain without its last rows, but only if the head is given', () => {
    expect(verifyKeyAudit(rows.slice(0, 4)).ok).toBe(true)
    expect(verifyKeyAudit(rows.slice(0, 4), head).ok).toBe(false)
    expect(verifyKeyAudit([], head).ok).toBe(false)
  })
})

test('computeAuditedStates computes the state of a key from its last transition', () => {
  const entries = [
    createEntry(1),
    { ...createEntry(2), transitions: [{ kid: 'key-1', from: 'published', to: 'signing' }] },
  ]
  expect(computeAuditedStates(entries as KeyAuditEntry[])).toEqual(new Map([['key-1', 'signing']]))
})
