import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCheckout } from './checkout.fixture.ts'
import { getPnpmPackage, PNPM_FOLDER } from './pnpm.mjs'

const PACKAGE = getPnpmPackage()
/** Must be the version in `pnpm/package-lock.json`. */
const PINNED_VERSION = '12.21.0'
/** A fake pnpm that records its calls, and creates the folders that an installation creates, but installs no packages. */
const FAKE_PNPM = `#!/bin/sh
echo "pnpm $*" >> "$CALLS"
mkdir -p node_modules/.bin packages/one/node_modules
ln -sf "$REAL_NODE" node_modules/.bin/node
`

const folder = mkdtempSync(path.join(os.tmpdir(), 'tampered-pnpm-'))
let tarball: Buffer
/** A registry that serves the fake pnpm as the pinned version, with the SHA-512 of the fake. */
const registry = createServer((request, response) => {
  if (request.url?.endsWith('.tgz')) return response.end(tarball)
  const { port } = registry.address() as AddressInfo
  const dist = { tarball: `http://127.0.0.1:${port}/pnpm.tgz`, integrity: computeIntegrity(tarball) }
  const manifest = { name: PACKAGE, version: PINNED_VERSION, dist }
  const document = {
    name: PACKAGE,
    'dist-tags': { latest: PINNED_VERSION },
    versions: { [PINNED_VERSION]: manifest },
  }
  return response.setHeader('content-type', 'application/json').end(JSON.stringify(document))
})
const computeIntegrity = (bytes: Buffer) => `sha512-${createHash('sha512').update(bytes).digest('base64')}`

beforeAll(async () => {
  mkdirSync(path.join(folder, 'package'))
  writeFileSync(
    path.join(folder, 'package/package.json'),
    JSON.stringify({ name: PACKAGE, version: PINNED_VERSION }),
  )
  writeFileSync(path.join(folder, 'package/pnpm'), FAKE_PNPM, { mode: 0o755 })
  execFileSync('tar', ['--create', '--gzip', '--file=pnpm.tgz', 'package'], { cwd: folder })
  tarball = readFileSync(path.join(folder, 'pnpm.tgz'))
  registry.listen(0, '127.0.0.1')
  await once(registry, 'listening')
})
afterAll(() => {
  registry.close()
  rmSync(folder, { recursive: true })
})

/** Runs a program in a checkout whose npm uses this registry. @param editLockfile edits the `package-lock.json` that pins pnpm */
async function runProgram(editLockfile: (text: string) => string) {
  using checkout = createCheckout()
  checkout.write('hello.mjs', 'console.log("started")')
  rmSync(path.join(checkout.root, 'fake'), { recursive: true }) // Removes the fake npm, so the real one runs.
  const file = path.join(PNPM_FOLDER, 'package-lock.json')
  checkout.write(file, editLockfile(checkout.read(file)))
  const { port } = registry.address() as AddressInfo
  const result = await checkout.start(['hello.mjs'], {
    npm_config_registry: `http://127.0.0.1:${port}`,
    npm_config_cache: path.join(checkout.root, 'cache'),
  }).result
  return { ...result, calls: checkout.readCalls() }
}

test('the bootstrap does not run a pnpm whose SHA-512 differs from the one in the lockfile', async () => {
  const { code, stdout, stderr, calls } = await runProgram((text) => text)
  expect({ code, stdout, calls }).toEqual({ code: 1, stdout: '', calls: [] })
  expect(stderr).toMatch(/a package from the registry does not match the lockfile\. It was not run\./)
})

test('the bootstrap runs a pnpm whose SHA-512 is the one in the lockfile', async () => {
  const { code, stdout, calls } = await runProgram((text) => {
    const lockfile = JSON.parse(text) as { packages: Record<string, { integrity: string }> }
    lockfile.packages[`node_modules/${PACKAGE}`]!.integrity = computeIntegrity(tarball)
    return JSON.stringify(lockfile)
  })
  expect({ code, stdout, calls: calls.length }).toEqual({ code: 0, stdout: 'started\n', calls: 1 })
})
