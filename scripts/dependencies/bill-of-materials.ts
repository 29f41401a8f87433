import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'

const LIMIT_MS = 60_000

/** A part of the list, with what it says of its licences: SPDX identifiers, expressions or names. */
export interface Component {
  readonly name: string
  readonly group?: string
  readonly version?: string
  readonly licenses: readonly string[]
}

interface Written extends Omit<Component, 'licenses'> {
  readonly licenses?: readonly { expression?: string; license?: { id?: string; name?: string } }[]
}

/**
 * All that is installed, as CycloneDX writes it down.
 *
 * @throws when pnpm fails or takes longer than a minute
 */
export function billOfMaterials(root: string, options: readonly string[] = []): string {
  const { packageManager } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    packageManager: string
  }
  const npx = ['--yes', '--prefer-offline', `--package=${packageManager}`, '--', 'pnpm', 'sbom']
  const { status, error, stdout, stderr } = spawnSync(
    'npx',
    [...npx, '--sbom-format', 'cyclonedx', ...options],
    { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, timeout: LIMIT_MS },
  )
  if (status !== 0) throw new Error(error?.message ?? (stderr || stdout))
  return stdout
}

/** @param bom CycloneDX, as JSON */
export function componentsOf(bom: string): Component[] {
  const { components } = JSON.parse(bom) as { components: readonly Written[] }
  return components.map(({ licenses = [], ...component }) => ({
    ...component,
    licenses: licenses.map(({ expression, license }) => expression ?? license?.id ?? license?.name ?? ''),
  }))
}
