import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { settingRows, settingsTable } from './settings-table.ts'

test('README.md holds the table that "auth config list" prints', () => {
  expect(readFileSync(new URL('../README.md', import.meta.url), 'utf8')).toContain(`\n${settingsTable()}\n`)
})

test('every setting says what it is', () => {
  expect(settingRows().filter(({ description }) => description.length < 10)).toEqual([])
})
