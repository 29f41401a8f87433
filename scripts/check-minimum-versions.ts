import { lockedPackages } from './dependencies/locked-packages.ts'
import { MINIMUM_VERSIONS } from './dependencies/minimum-versions.ts'
import type { Check } from './repository.ts'

/** No registry tells this machine of flaws, so those that are known are held here, in everything that is locked. */
export const checkMinimumVersions: Check = (repository) => {
  const locked = lockedPackages(repository)
  return MINIMUM_VERSIONS.flatMap((minimum) =>
    locked
      .filter(({ name, version }) => name === minimum.name && isBelow(version, minimum.version))
      .map(
        ({ name, version }) =>
          `pnpm-lock.yaml: ${name} ${version} is below ${minimum.version} (${minimum.because})`,
      ),
  )
}

/** What is no version, an address for one, is below; so is a version before the release. */
function isBelow(version: string, minimum: string): boolean {
  const parts = /^(\d+)\.(\d+)\.(\d+)(-)?/.exec(version)
  if (!parts) return true
  for (const [index, least] of minimum.split('.').map(Number).entries()) {
    const part = Number(parts[index + 1])
    if (part !== least) return part < least
  }
  return parts[4] !== undefined
}
