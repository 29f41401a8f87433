import { runWithPnpm } from './run-with-pnpm.ts'

/** Licences whose packages we may use and distribute; MPL-2.0 only if unchanged, which is so. */
const ALLOWED = [
  ...[
    '0BSD',
    'Apache-2.0',
    'BSD-2-Clause',
    'BSD-3-Clause',
    'BlueOak-1.0.0',
    'CC0-1.0',
    'ISC',
    'MIT',
    'MIT-0',
  ],
  ...['MIT OR Apache-2.0', '(MIT OR CC0-1.0)', 'MPL-2.0', 'PSF-2.0', 'Python-2.0', 'Unlicense'],
]

/** Packages that name a file instead of a licence, by the licences that the file has. */
const IN_A_FILE: Readonly<Record<string, string>> = {
  '@modelcontextprotocol/inspector': 'MIT for what was written before, Apache-2.0 since then',
}

/** Checks that every installed package has a licence of the list. */
export function checkLicences(root: string): string[] {
  const list = ['pnpm', 'licenses', 'list', '--recursive', '--include-workspace-root', '--json']
  const { stdout, failure } = runWithPnpm(root, list)
  if (failure) return [failure]
  const byLicence = JSON.parse(stdout) as Record<string, readonly { name: string }[]>
  const packages = Object.values(byLicence).flat()
  if (packages.length < 100) return [`the list of packages has only ${packages.length} entries`]
  return licenceBreaches(byLicence)
}

/** Finds packages whose licence is not in the list. @param byLicence packages by licence, as pnpm lists them */
export const licenceBreaches = (byLicence: Readonly<Record<string, readonly { name: string }[]>>): string[] =>
  Object.entries(byLicence)
    .filter(([licence]) => !ALLOWED.includes(licence))
    .flatMap(([licence, packages]) =>
      packages
        .filter(({ name }) => IN_A_FILE[name] === undefined)
        .map(({ name }) => `${name}: ${licence} is not on the list of scripts/check-licences.ts`),
    )
