import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { APPS, bundleApp } from './bundle-app.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'plainpath-bundle-'))
  for (const app of APPS) await bundleApp(app, path.join(folder, app))
}, 120_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs a file with a Node option of the image, and without environment variables that could affect it. */
const run = (file: string, args: readonly string[]) =>
  promisify(execFile)(process.execPath, ['--disable-proto=throw', file, ...args], { cwd: folder, env: {} })

describe.for(APPS)('the bundle of %s', (app) => {
  test('runs without installed packages, and prints the same help as the source', {
    timeout: 120_000,
  }, async () => {
    const [bundled, source] = await Promise.all([
      run(path.join(folder, app, `${app}.mjs`), ['--help']),
      run(path.join(ROOT, `apps/${app}/src/main.ts`), ['--help']),
    ])
    expect(bundled.stdout).toBe(source.stdout)
  })

  test('contains only ASCII, so that V8 stores its text with one byte for each character', () => {
    const code = readFileSync(path.join(folder, app, `${app}.mjs`), 'utf8')
    expect(code.match(/[^\0-\x7F].*/g)).toBeNull()
  })

  test('has its migrations, and every file that a module names', () => {
    const bundle = path.join(folder, app)
    const expected = globSync(`apps/${app}/migrations/*.sql`, { cwd: ROOT }).toSorted()
    expect(globSync('apps/*/migrations/*.sql', { cwd: bundle }).toSorted()).toEqual(expected)
    const code = readFileSync(path.join(bundle, `${app}.mjs`), 'utf8')
    // The bundler replaces the URL of a module by this form, so that a module finds its files in the bundle.
    const namedFiles = [
      ...code.matchAll(/new URL\("([^"$`]+)", new URL\("([^"]+)", import\.meta\.url\)\.href\)/g),
    ].map(([, file = '', module = '']) => path.join(path.dirname(module), file))
    expect(namedFiles.length).toBeGreaterThan(5)
    for (const file of namedFiles) expect(globSync(file, { cwd: bundle }), file).not.toEqual([])
  })

  test('has a source map, and the licence of every package in it', async () => {
    const bundle = path.join(folder, app)
    const expectedNames = ['apps', 'packages', `${app}.licences.txt`, `${app}.mjs`, `${app}.mjs.map`]
    expect((await readdir(bundle)).toSorted()).toEqual(expectedNames.toSorted())
    const map = JSON.parse(readFileSync(path.join(bundle, `${app}.mjs.map`), 'utf8')) as { sources: string[] }
    expect(map.sources.some((source) => source.endsWith(`apps/${app}/src/serve.ts`))).toBe(true)
    const bundledPackages = new Set(
      map.sources.flatMap((source) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? []),
    )
    const licences = readFileSync(path.join(bundle, `${app}.licences.txt`), 'utf8')
    expect([...bundledPackages].filter((name) => !licences.includes(`${name} `))).toEqual([])
    expect(bundledPackages.size).toBeGreaterThan(20)
  })

  test('does not contain the path of the check-out in which it was built', () => {
    const code = readFileSync(path.join(folder, app, `${app}.mjs`), 'utf8')
    expect(code).not.toContain(ROOT)
  })
})
