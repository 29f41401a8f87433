import { runWithPnpm } from './run-with-pnpm.ts'

/**
 * The licences under which we may use and distribute a package, each exactly as pnpm reports it. MPL-2.0 permits this because
 * we do not change the package.
 */
const ALLOWED_LICENCES = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'MIT OR Apache-2.0',
  '(MIT OR CC0-1.0)',
  'MPL-2.0',
  'PSF-2.0',
  'Python-2.0',
  'Unlicense',
]

/** The packages whose manifest names a file instead of a licence, with the licences in that file. They are allowed. */
const LICENCES_IN_FILES: Readonly<Record<string, string>> = {
  '@modelcontextprotocol/inspector': 'MIT for older contributions, Apache-2.0 for newer ones',
}

/** If pnpm lists fewer packages, its list is not complete. */
const MIN_PACKAGES = 100

/** Checks that every installed package has an allowed licence. Returns a line for each violation, or the failure of pnpm. */
export function checkLicences(root: string): string[] {
  const command = ['pnpm', 'licenses', 'list', '--recursive', '--include-workspace-root', '--json']
  const { stdout, failure } = runWithPnpm(root, command)
  if (failure) return [failure]
  const packagesByLicence = JSON.parse(stdout) as Record<string, readonly { name: string }[]>
  const packages = Object.values(packagesByLicence).flat()
  if (packages.length < MIN_PACKAGES) return [`the list of packages has only ${packages.length} entries`]
  return findLicenceViolations(packagesByLicence)
}

/**
 * Finds packages whose licence is not allowed.
 *
 * @param packagesByLicence as pnpm lists them
 */
export const findLicenceViolations = (
  packagesByLicence: Readonly<Record<string, readonly { name: string }[]>>,
): string[] =>
  Object.entries(packagesByLicence)
    .filter(([licence]) => !ALLOWED_LICENCES.includes(licence))
    .flatMap(([licence, packages]) =>
      packages
        .filter(({ name }) => LICENCES_IN_FILES[name] === undefined)
        .map(({ name }) => `${name}: ${licence} is not on the list of scripts/check-licences.ts`),
    )
