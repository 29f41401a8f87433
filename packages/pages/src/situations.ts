/** The guide details that a list shows. */
export interface GuideInList {
  readonly slug: string
  readonly title: string
  readonly summary: string
}

interface Situation {
  /** The fragment of the situation's section in `/guides`. */
  readonly id: string
  readonly title: string
  readonly about: string
  /** The situation's guides, most needed first. A guide may belong to several situations. */
  readonly slugs: readonly string[]
}

/** The situations by which people look for a guide. */
export const SITUATIONS: readonly Situation[] = [
  {
    id: 'work',
    title: 'Work, study or visit',
    about: 'Work permits, H-1B jobs, work for students (OPT), and a longer stay.',
    slugs: ['work-permit', 'h1b-basics', 'student-opt', 'change-of-status', 'visitor-stay'],
  },
  {
    id: 'family',
    title: 'Family',
    about: 'Bring a husband, wife, parent, child, brother or sister.',
    slugs: [
      'family-petition',
      'fiance-visa',
      'affidavit-of-support',
      'consular-processing',
      'visa-bulletin',
      'refugee-family',
    ],
  },
  {
    id: 'green-card',
    title: 'Green card',
    about: 'Ask for one, renew it, replace a lost one, or travel with it.',
    slugs: [
      'renew-green-card',
      'replace-lost-green-card',
      'remove-conditions',
      'adjust-status',
      'consular-processing',
      'visa-bulletin',
      'travel-document',
    ],
  },
  {
    id: 'citizenship',
    title: 'Citizenship',
    about: 'How to apply, the test, and citizens through a parent or the military.',
    slugs: [
      'apply-for-citizenship',
      'naturalization-test',
      'citizenship-through-a-parent',
      'military-naturalization',
    ],
  },
  {
    id: 'protection',
    title: 'Protection from harm',
    about:
      'Asylum, protection for people from some countries (TPS) or who came as children (DACA), and help for victims of abuse or a crime.',
    slugs: [
      'asylum-basics',
      'tps-basics',
      'daca-renewal',
      'vawa-basics',
      'u-visa-basics',
      'special-immigrant-juveniles',
      'refugee-family',
    ],
  },
  {
    id: 'court',
    title: 'Court and detention',
    about: 'A Notice to Appear, a hearing, somebody detained, and free lawyers.',
    slugs: ['removal-proceedings-basics', 'find-legal-help', 'change-of-address'],
  },
  {
    id: 'letter',
    title: 'You got a letter, or you are waiting',
    about: 'Check a case, answer USCIS, get fingerprints taken, move, pay less.',
    slugs: [
      'check-case-status',
      'respond-to-rfe',
      'biometrics-appointment',
      'change-of-address',
      'request-fee-waiver',
      'foia-request',
      'avoid-scams',
    ],
  },
]

/** The guides to suggest to a person whose needs are unknown. */
const OFTEN_NEEDED = [
  'find-legal-help',
  'work-permit',
  'renew-green-card',
  'replace-lost-green-card',
  'check-case-status',
  'apply-for-citizenship',
]

/** Groups guides by situation, and omits empty situations. Guides without a situation come last, under `more`. */
export function groupGuidesBySituation(guides: readonly GuideInList[]) {
  const situationGroups = SITUATIONS.map(({ slugs, ...situation }) => ({
    ...situation,
    guides: selectBySlug(guides, slugs),
  }))
  const slugsWithSituation = new Set(SITUATIONS.flatMap(({ slugs }) => slugs))
  const otherGuides = guides.filter(({ slug }) => !slugsWithSituation.has(slug))
  const otherGroup = {
    id: 'more',
    title: 'More guides',
    about: 'Guides on other subjects.',
    guides: otherGuides,
  }
  return [...situationGroups, otherGroup].filter((group) => group.guides.length > 0)
}

/** Lists the guides of `OFTEN_NEEDED` that are among `guides`, in that order. */
export const listOftenNeededGuides = (guides: readonly GuideInList[]) => selectBySlug(guides, OFTEN_NEEDED)

const selectBySlug = (guides: readonly GuideInList[], slugs: readonly string[]) =>
  slugs.flatMap((slug) => guides.find((guide) => guide.slug === slug) ?? [])
