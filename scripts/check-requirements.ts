import type { Check } from './repository.ts'
import { casesWithoutTest, REQUIREMENTS_PAGE, requirementsPage } from './requirements/requirements-page.ts'

/** Every case has its test by name, and the page that says so is the one that is committed. */
export const checkRequirements: Check = (repository) => {
  const isCurrent =
    repository.files.includes(REQUIREMENTS_PAGE) &&
    repository.read(REQUIREMENTS_PAGE) === requirementsPage(repository)
  return [
    ...casesWithoutTest(repository),
    ...(isCurrent ? [] : [`${REQUIREMENTS_PAGE}: not as the tests are; npm run generate writes it anew`]),
  ]
}
