import path from 'node:path'
import { expect, test } from 'vitest'
import { openRepository } from './repository.ts'

/*
 * These tests notice when a setting or a pin is removed that protects against malicious packages. `pnpm-workspace.yaml` says what
 * the settings do.
 */

const { files, read } = openRepository(path.resolve(import.meta.dirname, '..'))
const workspace = read('pnpm-workspace.yaml')
const EXACT = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/

type Dependencies = Readonly<Record<string, string>>
const namedDependencies = files
  .filter((file) => /(^|\/)package\.json$/.test(file))
  .flatMap((file) => {
    const manifest = JSON.parse(read(file)) as Record<string, Dependencies | undefined>
    return ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
      Object.entries(manifest[kind] ?? {}).map(([name, version]) => ({ file, kind, name, version })),
    )
  })

/** Reads the keys and values of a top-level mapping of pnpm-workspace.yaml. */
function readMapping(name: string): [key: string, value: string][] {
  const section = new RegExp(`^${name}:\\n((?: +.+\\n?)+)`, 'm').exec(workspace)?.[1] ?? ''
  return Array.from(section.matchAll(/^ +"?([^":#]+)"?: (.+)$/gm), ([, key = '', value = '']) => [key, value])
}

test.for([
  // A week, in minutes.
  'minimumReleaseAge: 10080',
  'minimumReleaseAgeStrict: true',
  'minimumReleaseAgeIgnoreMissingTime: false',
  'trustPolicy: no-downgrade',
  // pnpm then checks each package of the lockfile against these rules, its SHA-512 and the registry.
  'trustLockfile: false',
  'blockExoticSubdeps: true',
  'strictDepBuilds: true',
  'savePrefix: ""',
  'catalogMode: strict',
])('pnpm-workspace.yaml sets %s, and does not allow the install scripts of all packages', (setting) => {
  expect(workspace.split('\n')).toContain(setting)
  expect(workspace).not.toMatch(/^dangerously/m)
})

test('each exception from the minimum release age names an exact, locked version', () => {
  const exceptions = /^minimumReleaseAgeExclude:\n((?: +.+\n)+)/m.exec(workspace)?.[1] ?? ''
  const lockfile = read('pnpm-lock.yaml')
  for (const [, entry = ''] of exceptions.matchAll(/^ +- ['"]?(.+?)['"]?$/gm)) {
    expect(entry).toMatch(/.@\d+\.\d+\.\d+$/)
    expect(lockfile).toContain(entry)
  }
})

test('versions are exact, and only in the catalog or in the manifest of the root', () => {
  const catalog = readMapping('catalog')
  expect(catalog.length).toBeGreaterThan(30)
  expect(catalog.filter(([, version]) => !EXACT.test(version))).toEqual([])
  expect(namedDependencies.length).toBeGreaterThan(100)
  // Optional dependencies outside of the root may have an exact version too.
  const wrongVersions = namedDependencies.filter(({ file, kind, version }) =>
    file === 'package.json' ||
    file === 'scripts/bootstrap/pnpm/package.json' ||
    (kind === 'optionalDependencies' && EXACT.test(version))
      ? !EXACT.test(version)
      : !['catalog:', 'workspace:*'].includes(version),
  )
  expect(wrongVersions).toEqual([])
})

test('pnpm-lock.yaml is the only lockfile except for the one that pins pnpm, and it names no registry', () => {
  expect(
    files.filter((file) => /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock)$/.test(file)),
  ).toEqual(['scripts/bootstrap/pnpm/package-lock.json'])
  expect(read('pnpm-lock.yaml')).not.toMatch(/https?:\/\//)
})

test('docs/dependencies.md lists exactly the packages that the manifests name', () => {
  const externalNames = namedDependencies
    .filter(({ version }) => version !== 'workspace:*')
    .map(({ name }) => name)
  // Rows that begin with `scripts/` describe our own tools.
  const documentedNames = Array.from(
    read('docs/dependencies.md').matchAll(/^\| `(?!scripts\/)(.+?)` \|/gm),
    ([, name]) => name,
  )
  expect(documentedNames.toSorted()).toEqual([...new Set(externalNames)].sort())
})

test('pnpm is the version that the root manifest names, with a SHA-512 for each platform', () => {
  const folder = 'scripts/bootstrap/pnpm'
  const { optionalDependencies: programs } = JSON.parse(read(`${folder}/package.json`)) as {
    optionalDependencies: Record<string, string>
  }
  const { packages } = JSON.parse(read(`${folder}/package-lock.json`)) as {
    packages: Record<string, { version?: string; integrity?: string; resolved?: string }>
  }
  const { packageManager } = JSON.parse(read('package.json')) as { packageManager: string }
  const [, pinnedVersion] = packageManager.split('@')
  expect(Object.keys(programs)).toEqual(['@pnpm/exe.linux-arm64', '@pnpm/exe.linux-x64'])
  for (const [name, version] of Object.entries(programs)) {
    expect(version, name).toBe(pinnedVersion)
    const lockedPackage = packages[`node_modules/${name}`]
    expect(lockedPackage, name).toMatchObject({
      version,
      integrity: expect.stringMatching(/^sha512-.{86}==$/),
    })
    // The lockfile names no registry, so the configured one is used.
    expect(lockedPackage?.resolved, name).toBeUndefined()
  }
})
