import { lockedPackages } from './dependencies/locked-packages.ts'
import type { Check, Repository } from './repository.ts'

const EXACT = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/
const FROM_WORKSPACE = /^(catalog:|workspace:\*)$/
const WORKSPACE_MANIFEST = /\/package\.json$/
const FOREIGN_LOCKFILE = /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock)$/

/** Whoever installs gets the same bytes, from whichever registry serves them. */
export const checkLockfile: Check = (repository) => [
  ...addresses(repository),
  ...withoutHash(repository),
  ...policyBreaches(repository),
  ...catalogOf(repository)
    .filter(({ version }) => !EXACT.test(version))
    .map(({ name, version }) => `pnpm-workspace.yaml: ${name} ${version} is not an exact version`),
  ...dependenciesOf(repository, 'package.json')
    .filter(({ version }) => !EXACT.test(version))
    .map(({ name, version }) => `package.json: ${name} ${version} is not an exact version`),
  ...repository.files
    .filter((file) => WORKSPACE_MANIFEST.test(file))
    .flatMap((file) => ownVersions(repository, file)),
  ...repository.files
    .filter((file) => FOREIGN_LOCKFILE.test(file))
    .map((file) => `${file}: pnpm-lock.yaml is the only lockfile`),
]

/** What pnpm must be told, so that nothing new, unproven or with a script gets in. */
const POLICIES = {
  minimumReleaseAge: '10080',
  minimumReleaseAgeStrict: 'true',
  minimumReleaseAgeIgnoreMissingTime: 'false',
  trustPolicy: 'no-downgrade',
  blockExoticSubdeps: 'true',
  strictDepBuilds: 'true',
  trustLockfile: 'false',
}

function policyBreaches(repository: Repository): string[] {
  const workspace = repository.read('pnpm-workspace.yaml')
  const locked = repository.read('pnpm-lock.yaml')
  const exceptions = /^minimumReleaseAgeExclude:\n((?: +.+\n)+)/m.exec(workspace)?.[1] ?? ''
  return [
    ...Object.entries(POLICIES)
      .filter(([name, value]) => !new RegExp(`^${name}: ${value}$`, 'm').test(workspace))
      .map(([name, value]) => `pnpm-workspace.yaml: must say ${name}: ${value}`),
    ...(/^dangerously/m.test(workspace) ? ['pnpm-workspace.yaml: allows every script'] : []),
    ...Array.from(exceptions.matchAll(/^ +- ['"]?(.+?)['"]?$/gm), ([, entry = '']) => entry)
      .filter((entry) => !/.@\d+\.\d+\.\d+$/.test(entry) || !locked.includes(entry))
      .map((entry) => `pnpm-workspace.yaml: the exception ${entry} is no exact version that is locked`),
  ]
}

/** Hashes say what a package is; an address would tie the project to one server. */
const addresses = (repository: Repository): string[] =>
  repository
    .read('pnpm-lock.yaml')
    .split('\n')
    .flatMap((line, index) =>
      /https?:\/\//.test(line) ? [`pnpm-lock.yaml:${index + 1}: names an address`] : [],
    )

/** What comes from a registry has one; a folder, a repository or an archive need not. */
const HASH = /^ {4}resolution: \{integrity: sha512-[A-Za-z0-9+/]{86}==[,}]/m

function withoutHash(repository: Repository): string[] {
  const locked = lockedPackages(repository)
  if (locked.length === 0) return ['pnpm-lock.yaml: holds no packages']
  return locked
    .filter(({ entry }) => !HASH.test(entry))
    .map(({ name, version }) => `pnpm-lock.yaml: ${name} ${version} has no SHA-512`)
}

function catalogOf(repository: Repository): { name: string; version: string }[] {
  const entries = /^catalog:\n((?: +.+\n?)+)/m.exec(repository.read('pnpm-workspace.yaml'))?.[1] ?? ''
  return Array.from(entries.matchAll(/^ +['"]?([^'":]+)['"]?: *(.+)$/gm), ([, name = '', version = '']) => ({
    name,
    version,
  }))
}

/** Programs made for one platform stay out of the catalog: they are named once, where they are started. */
const ownVersions = (repository: Repository, file: string): string[] =>
  dependenciesOf(repository, file)
    .filter(({ version, optional }) => !FROM_WORKSPACE.test(version) && !(optional && EXACT.test(version)))
    .map(({ name, version }) => `${file}: ${name} ${version} must be catalog: or workspace:*`)

type Dependencies = Readonly<Record<string, string>>

function dependenciesOf(
  repository: Repository,
  file: string,
): { name: string; version: string; optional: boolean }[] {
  const manifest = JSON.parse(repository.read(file)) as {
    dependencies?: Dependencies
    devDependencies?: Dependencies
    optionalDependencies?: Dependencies
  }
  const list = (dependencies: Dependencies = {}, optional = false) =>
    Object.entries(dependencies).map(([name, version]) => ({ name, version, optional }))
  return [
    ...list(manifest.dependencies),
    ...list(manifest.devDependencies),
    ...list(manifest.optionalDependencies, true),
  ]
}
