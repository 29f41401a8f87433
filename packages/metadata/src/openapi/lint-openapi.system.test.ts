import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DescribedApi, selectOpenApiPart } from './openapi-part.ts'

const root = path.resolve(import.meta.dirname, '../../../..')
const DOCUMENT_PATH = 'packages/metadata/openapi.json'
const DOCUMENT_TEXT = readFileSync(path.join(root, DOCUMENT_PATH), 'utf8')

/** Writes a document to `folder`, and runs the two commands of `npm run lint:openapi` on it. Returns both exit statuses. */
function lint(name: string, document: string): { statuses: (number | null)[]; output: string } {
  const file = path.join(folder, `${name}.json`)
  writeFileSync(file, document)
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const commands = manifest.scripts['lint:openapi']!.split(' && ')
  expect(commands).toHaveLength(2)
  const results = commands.map((command) => {
    const args = command.split('scripts/bootstrap.mjs ')[1]!.replace(DOCUMENT_PATH, file).split(' ')
    return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  })
  return {
    statuses: results.map(({ status }) => status),
    output: results.map(({ stdout, stderr }) => stdout + stderr).join('\n'),
  }
}

let folder: string
let lintOutput: string
// One run serves the tests of all three mistakes, because each program takes seconds to load.
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'plainpath-openapi-test-'))
  let text = DOCUMENT_TEXT
  // One replacement for each of `MISTAKES`, in the same order.
  for (const [from, to] of [
    ['"name": "Health"', '"name": "Other"'],
    ['"expires_in": 3600', '"expires_in": "3600"'],
    ['"type": "boolean",', '"type": "boolean", "nullable": true,'],
  ] as const) {
    if (!text.includes(from)) throw new Error(`${DOCUMENT_PATH} has no ${from}`)
    text = text.replace(from, to)
  }
  lintOutput = lint('mistaken', text).output
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Each pattern matches a rule or a location in the output. A rule belongs to the program in parentheses. */
const MISTAKES = [
  ['a tag that is not described (Spectral)', /operation-tag-defined/],
  ['an example that its schema rejects', /expires_in/],
  ['a keyword of OpenAPI 3.0 (Redocly)', /struct/],
] as const

test.for(MISTAKES)('npm run lint:openapi reports %s', ([, report]) => {
  expect(lintOutput).toMatch(report)
})

test('npm run lint:openapi accepts a part of the document', { timeout: 120_000 }, () => {
  const part = selectOpenApiPart(
    JSON.parse(DOCUMENT_TEXT) as DescribedApi,
    new Set(['getGuide', 'replaceAgentKeys', 'createToken', 'deleteContactMessage']),
  )
  const { statuses, output } = lint('part', JSON.stringify(part))
  expect(statuses, output).toEqual([0, 0])
})
