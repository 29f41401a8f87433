import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'

const root = path.resolve(import.meta.dirname, '..')
const source = path.join(root, 'packages/client')

/** Writes the published package into a folder: `dist` with JavaScript and types, the manifest and the README. */
function buildClient(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc')
  const options = ['-p', path.join(source, 'tsconfig.build.json'), '--outDir', path.join(folder, 'dist')]
  execFileSync(process.execPath, [tsc, ...options], { stdio: 'inherit' })
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(createPublishedManifest(), null, 2)}\n`)
  copyFileSync(path.join(source, 'README.md'), path.join(folder, 'README.md'))
}

/** Returns the manifest as pnpm publishes it: with `publishConfig` applied, and without development dependencies. */
function createPublishedManifest(): object {
  const manifest = JSON.parse(readFileSync(path.join(source, 'package.json'), 'utf8')) as Record<
    string,
    object
  >
  const { publishConfig, ...published } = manifest
  delete published['devDependencies']
  return { ...published, ...publishConfig }
}

const [folder] = process.argv.slice(2)
if (folder === undefined) {
  console.error('Usage: npm run build:client -- FOLDER')
  process.exitCode = 2
} else buildClient(folder)
