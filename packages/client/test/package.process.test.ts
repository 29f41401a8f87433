import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generateOpenapiTypes } from '../generate-openapi-types.ts'

const run = promisify(execFile)
const here = path.resolve(import.meta.dirname, '..')
const folder = mkdtempSync(path.join(tmpdir(), 'plainpath-client-'))
beforeAll(async () => {
  await run(process.execPath, [path.resolve(here, '../../scripts/build-client.ts'), folder])
})
afterAll(() => rmSync(folder, { recursive: true }))

test('src/openapi-types.ts is what "npm run generate" writes', async () => {
  expect(readFileSync(path.join(here, 'src/openapi-types.ts'), 'utf8')).toBe(await generateOpenapiTypes())
})

test('the package has the built files, the manifest and the README, and no dependency', () => {
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
  expect(manifest.exports).toEqual({ '.': { types: './dist/index.d.ts', default: './dist/index.js' } })
  expect(Object.keys(manifest).filter((name) => /dependencies/i.test(name))).toEqual([])
  expect(readdirSync(folder).sort()).toEqual(['README.md', 'dist', 'package.json'])
  for (const name of readdirSync(path.join(folder, 'dist'))) expect(name).toMatch(/\.(js|d\.ts)$/)
})

test('the built files import nothing but each other, and use nothing that only Node has', () => {
  const dist = path.join(folder, 'dist')
  const files = readdirSync(dist).filter((name) => name.endsWith('.js'))
  const built = files.map((name) => readFileSync(path.join(dist, name), 'utf8')).join('\n')
  const imported = Array.from(
    built.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g),
    ([, name = '']) => name,
  )
  expect(imported).toContain('./plainpath.js')
  expect(imported.filter((name) => !files.some((file) => name === `./${file}`))).toEqual([])
  expect(built).not.toMatch(/\b(?:process|Buffer)\.\w|\b(?:require|setImmediate)\(/)
})

test('publint finds nothing', async () => {
  const { messages, pkg } = await publint({ pkgDir: folder, pack: false, strict: true })
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([])
})

// It compiles the package under each way, which takes longer on a busy machine.
test('TypeScript finds the types with every module resolution that supports ES modules', {
  timeout: 240_000,
}, async () => {
  const attw = path.join(here, 'node_modules/.bin/attw')
  const { stdout } = await run(attw, [
    '--pack',
    folder,
    '--profile',
    'esm-only',
    '--format',
    'ascii',
    '--no-emoji',
  ])
  expect(stdout).toContain('node16 (from ESM): OK')
  expect(stdout).toContain('bundler: OK')
})
