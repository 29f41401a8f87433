import type { Repository } from '../repository.ts'

export interface DirectDependency {
  readonly name: string
  /** As it is pinned. */
  readonly version: string
  /** Folders whose manifest names it; `.` is the root. */
  readonly users: readonly string[]
  /** Whether an app needs it when it runs. */
  readonly runs: boolean
}

const KINDS = ['dependencies', 'optionalDependencies', 'devDependencies'] as const
type Manifest = Partial<Record<(typeof KINDS)[number], Record<string, string>>>
const DEPLOYED = /^(apps\/(auth|resource)|packages\/)/

/** Every foreign package that a manifest of the repository names, sorted. */
export function directDependencies(repository: Repository): DirectDependency[] {
  const named = repository.files
    .filter((file) => /(^|\/)package\.json$/.test(file))
    .flatMap((file) => {
      const manifest = JSON.parse(repository.read(file)) as Manifest
      const folder = file === 'package.json' ? '.' : file.replace(/\/package\.json$/, '')
      return KINDS.flatMap((kind) =>
        Object.entries(manifest[kind] ?? {}).map(([name, written]) => ({ name, written, folder, kind })),
      )
    })
    .filter(({ written }) => !written.startsWith('workspace:'))
  const workspace = repository.read('pnpm-workspace.yaml')
  const pinned = (name: string) =>
    new RegExp(`^  ['"]?${name.replace(/[/.]/g, '\\$&')}['"]?: (.+)$`, 'm').exec(workspace)?.[1] ?? ''
  return [...new Set(named.map(({ name }) => name))].sort().map((name) => {
    const uses = named.filter((each) => each.name === name)
    const [first] = uses
    return {
      name,
      version: first && first.written !== 'catalog:' ? first.written : pinned(name),
      users: [...new Set(uses.map(({ folder }) => folder))].sort(),
      runs: uses.some(({ folder, kind }) => kind === 'dependencies' && DEPLOYED.test(folder)),
    }
  })
}
