import { DEPENDENCIES_PAGE, dependenciesPage } from './dependencies/dependencies-page.ts'
import { directDependencies } from './dependencies/direct-dependencies.ts'
import { REASONS } from './dependencies/reasons.ts'
import type { Check } from './repository.ts'

const REASONS_FILE = 'scripts/dependencies/reasons.ts'

/** Every package that is named has a reason, and the page that gives it is the one that is committed. */
export const checkDependencies: Check = (repository) => {
  const names = directDependencies(repository).map(({ name }) => name)
  const isCurrent =
    repository.files.includes(DEPENDENCIES_PAGE) &&
    repository.read(DEPENDENCIES_PAGE) === dependenciesPage(repository)
  return [
    ...names
      .filter((name) => !Object.hasOwn(REASONS, name))
      .map((name) => `${REASONS_FILE}: ${name} has no reason`),
    ...Object.keys(REASONS)
      .filter((name) => !names.includes(name))
      .map((name) => `${REASONS_FILE}: ${name} is named by no manifest`),
    ...(isCurrent ? [] : [`${DEPENDENCIES_PAGE}: not as the manifests are; npm run generate writes it anew`]),
  ]
}
