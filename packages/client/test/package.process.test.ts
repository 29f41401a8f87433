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
const packageFolder = path.resolve(import.meta.dirname, '..')
const builtFolder = mkdtempSync(path.join(tmpdir(), 'plainpath-client-'))
beforeAll(async () => {
  await run(process.execPath, [path.resolve(packageFolder, '../../scripts/build-client.ts'), builtFolder])
})
afterAll(() => rmSync(builtFolder, { recursive: true }))

test('src/openapi-types.ts is up to date with the API description', async () => {
  const types = readFileSync(path.join(packageFolder, 'src/openapi-types.ts'), 'utf8')
  expect(types).toBe(await generateOpenapiTypes())
})

test('the package contains dist, the manifest and the README; its manifest exports the built files and has no dependencies', () => {
  const manifest = JSON.parse(readFileSync(path.join(builtFolder, 'package.json'), 'utf8'))
  expect(manifest.exports).toEqual({ '.': { types: './dist/index.d.ts', default: './dist/index.js' } })
  expect(Object.keys(manifest).filter((name) => /dependencies/i.test(name))).toEqual([])
  expect(readdirSync(builtFolder).sort()).toEqual(['README.md', 'dist', 'package.json'])
  for (const name of readdirSync(path.join(builtFolder, 'dist'))) expect(name).toMatch(/\.(js|d\.ts)$/)
})

test('the built files import only each other, and use no process, Buffer, require or setImmediate', () => {
  const dist = path.join(builtFolder, 'dist')
  const files = readdirSync(dist).filter((name) => name.endsWith('.js'))
  const code = files.map((name) => readFileSync(path.join(dist, name), 'utf8')).join('\n')
  const importedPaths = Array.from(
    code.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g),
    ([, name = '']) => name,
  )
  expect(importedPaths).toContain('./plainpath.js')
  expect(importedPaths.filter((name) => !files.some((file) => name === `./${file}`))).toEqual([])
  expect(code).not.toMatch(/\b(?:process|Buffer)\.\w|\b(?:require|setImmediate)\(/)
})

test('publint reports nothing', async () => {
  const { messages, pkg } = await publint({ pkgDir: builtFolder, pack: false, strict: true })
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([])
})

// attw (Are the types wrong?) compiles the package once per module resolution mode, which is slow on a busy machine.
test('attw resolves the types in the modes node16 (from ESM) and bundler', {
  timeout: 240_000,
}, async () => {
  const attw = path.join(packageFolder, 'node_modules/.bin/attw')
  const { stdout } = await run(attw, [
    '--pack',
    builtFolder,
    '--profile',
    'esm-only',
    '--format',
    'ascii',
    '--no-emoji',
  ])
  expect(stdout).toContain('node16 (from ESM): OK')
  expect(stdout).toContain('bundler: OK')
})
