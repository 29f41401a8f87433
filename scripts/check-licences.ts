import { billOfMaterials, type Component, componentsOf } from './dependencies/bill-of-materials.ts'

/** What we may use and pass on without asking. MPL-2.0 only unchanged, which it is. */
const ALLOWED = new Set([
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
  ...['MPL-2.0', 'PSF-2.0', 'Python-2.0', 'Unlicense'],
])
/** Say it in their files, and not where programs look for it. */
const READ_BY_HAND: Readonly<Record<string, string>> = { 'reserved@0.1.2': 'MIT' }
/** Names of the workspace’s own packages, which the list holds too. */
const OURS = /^@plainpath$/

/** Every package that is installed comes under a licence of the list. */
export function checkLicences(root: string): string[] {
  const components = componentsOf(billOfMaterials(root))
  if (components.length < 100) return [`the list of packages has only ${components.length} entries`]
  return licenceBreaches(components)
}

export const licenceBreaches = (components: readonly Component[]): string[] =>
  components
    .filter(({ group }) => !OURS.test(group ?? ''))
    .filter(({ name, version }) => !(`${name}@${version}` in READ_BY_HAND))
    .filter(({ licenses }) => licenses.length === 0 || !licenses.every(isAllowed))
    .map(({ group, name, version, licenses }) => {
      const full = group ? `${group}/${name}` : name
      return `${full}@${version}: ${licenses.join(' and ') || 'no licence'} is not on the list of scripts/check-licences.ts`
    })

/** One of `A OR B` is enough; of `A AND B` both are needed (SPDX expressions without further nesting). */
const isAllowed = (expression: string): boolean =>
  expression
    .replace(/[()]/g, '')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((licence) => ALLOWED.has(licence.trim())))
