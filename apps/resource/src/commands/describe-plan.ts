import type { PlannedGuide, PublishingStep } from '../guides/publishing-plan.ts'

const WORDS: Record<PublishingStep, (guide: PlannedGuide) => string> = {
  add: ({ to }) => `new, version ${to}`,
  change: ({ from, to, differs }) => `version ${from} to ${to}: ${differs.filter(isContent).join(', ')}`,
  same: ({ from }) => `version ${from}, the same`,
  older: ({ from, to }) => `version ${to} here, ${from} is published and stays`,
  draft: ({ from }) => (from === undefined ? 'draft' : `draft here, version ${from} is published and stays`),
  retired: () => 'retired',
  'not-in-release': ({ from }) => `not in this release, version ${from} is published and stays`,
  'version-not-raised': ({ from, differs }) =>
    `version ${from} is published with another content: raise the version (${differs.join(', ')})`,
}

const isContent = (member: string) => member !== 'version'

/** A line for each guide, and a sum. */
export function describePlan(plan: readonly PlannedGuide[]): string {
  const changing = plan.filter(({ step }) => step === 'add' || step === 'change').length
  return [
    ...plan.map((guide) => `${guide.slug}  ${WORDS[guide.step](guide)}`),
    sum(changing, plan.length),
  ].join('\n')
}

const sum = (changing: number, all: number) => `${changing} of ${all} guides differ from what was published.`

export const refusedVersions = (refused: readonly PlannedGuide[]) =>
  ['Nothing was published.', ...refused.map((guide) => `${guide.slug}  ${WORDS[guide.step](guide)}`)].join(
    '\n',
  )
