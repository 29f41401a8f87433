import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkCopy, lintOpenapi, OPENAPI_COPY } from './check-openapi.ts'

const root = path.resolve(import.meta.dirname, '..')
let folder: string
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'plainpath-openapi-test-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The committed description with some words changed. */
function changed(...changes: readonly (readonly [from: string, to: string])[]): string {
  let text = readFileSync(path.join(root, OPENAPI_COPY), 'utf8')
  for (const [from, to] of changes) {
    expect(text).toContain(from)
    text = text.replace(from, to)
  }
  const file = path.join(folder, 'openapi.json')
  writeFileSync(file, text)
  return file
}

test('the committed API description is what the code makes', () => {
  expect(checkCopy(root)).toEqual([])
})

test('a copy that differs by a word is found', () => {
  expect(checkCopy(root, changed(['listGuides', 'listAllGuides']))).toEqual([
    expect.stringContaining('npm run generate'),
  ])
})

test('Redocly recommended-strict and Spectral oas find nothing in it', { timeout: 120_000 }, () => {
  expect(lintOpenapi(root)).toEqual([])
})

describe('they find', () => {
  let found: string
  // One run for all three: each program takes seconds to load.
  beforeAll(() => {
    const file = changed(
      ['"name": "Health"', '"name": "Other"'],
      ['"expires_in": 3600', '"expires_in": "3600"'],
      ['"type": "boolean",', '"type": "boolean", "nullable": true,'],
    )
    found = lintOpenapi(root, file).join('\n')
  }, 120_000)

  test.for([
    ['a tag that is not described (Spectral)', /operation-tag-defined/],
    ['an example that its schema refuses', /expires_in/],
    ['a word of OpenAPI 3.0 (Redocly)', /struct/],
  ] as const)('%s', ([, expected]) => {
    expect(found).toMatch(expected)
  })
})
