import type { Repository } from '../repository.ts'

export interface LockedPackage {
  readonly name: string
  /** Or the address that it comes from. */
  readonly version: string
  /** What the lockfile says of it. */
  readonly entry: string
}

/** Every package of the lockfile, ours and those that they bring along. */
export function lockedPackages(repository: Repository): LockedPackage[] {
  const section = /^packages:\n((?:(?: .*)?\n)*)/m.exec(repository.read('pnpm-lock.yaml'))?.[1] ?? ''
  return section
    .split(/^(?= {2}\S)/m)
    .map((entry) => ({ entry, id: /^ {2}'?(.+?)'?:\n/.exec(entry)?.[1] }))
    .flatMap(({ entry, id }) => {
      if (id === undefined) return []
      const end = id.indexOf('@', 1)
      return [{ name: id.slice(0, end), version: id.slice(end + 1), entry }]
    })
}
