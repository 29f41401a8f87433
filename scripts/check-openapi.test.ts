import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkCopy, lintOpenapi, OPENAPI_COPY } from './check-openapi.ts'

const root = path.resolve(import.meta.dirname, '..')
let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'plainpath-openapi-test-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The committed description with one word changed. */
function changed(from: string, to: string): string {
  const text = readFileSync(path.join(root, OPENAPI_COPY), 'utf8')
  expect(text).toContain(from)
  const file = path.join(folder, 'openapi.json')
  writeFileSync(file, text.replace(from, to))
  return file
}

test('the committed API description is what the code makes', () => {
  expect(checkCopy(root)).toEqual([])
})

test('a copy that differs by a word is found', () => {
  expect(checkCopy(root, changed('listGuides', 'listAllGuides'))).toEqual([
    expect.stringContaining('npm run generate'),
  ])
})

test('Redocly recommended-strict and Spectral oas find nothing in it', { timeout: 120_000 }, () => {
  expect(lintOpenapi(root)).toEqual([])
})

test.for([
  ['a tag that is not described (Spectral)', '"name": "Health"', '"name": "Other"', /operation-tag-defined/],
  ['an example that its schema refuses', '"expires_in": 3600', '"expires_in": "3600"', /expires_in/],
  ['a word of OpenAPI 3.0 (Redocly)', '"type": "boolean",', '"type": "boolean", "nullable": true,', /struct/],
] as const)('they find %s', { timeout: 120_000 }, ([, from, to, found]) => {
  expect(lintOpenapi(root, changed(from, to)).join('\n')).toMatch(found)
})
