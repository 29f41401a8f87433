/** A guide in a list. */
export interface GuideInList {
  readonly slug: string
  readonly title: string
  readonly summary: string
}

interface Situation {
  /** The fragment of its part of `/guides`. */
  readonly id: string
  readonly title: string
  readonly about: string
  /** Of its guides, those that most people need first. A guide may be in more than one situation. */
  readonly slugs: readonly string[]
}

/** How people look for a guide: by what happens to them. */
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
      ...['family-petition', 'fiance-visa', 'affidavit-of-support', 'consular-processing', 'visa-bulletin'],
      'refugee-family',
    ],
  },
  {
    id: 'green-card',
    title: 'Green card',
    about: 'Ask for one, renew it, replace a lost one, or travel with it.',
    slugs: [
      ...['renew-green-card', 'replace-lost-green-card', 'remove-conditions', 'adjust-status'],
      ...['consular-processing', 'visa-bulletin', 'travel-document'],
    ],
  },
  {
    id: 'citizenship',
    title: 'Citizenship',
    about: 'How to apply, the test, and citizens through a parent or the military.',
    slugs: [
      ...['apply-for-citizenship', 'naturalization-test', 'citizenship-through-a-parent'],
      'military-naturalization',
    ],
  },
  {
    id: 'protection',
    title: 'Protection',
    about: 'Asylum, TPS, DACA, and help for people who were harmed.',
    slugs: [
      ...['asylum-basics', 'tps-basics', 'daca-renewal', 'vawa-basics', 'u-visa-basics'],
      ...['special-immigrant-juveniles', 'refugee-family'],
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
      ...['check-case-status', 'respond-to-rfe', 'biometrics-appointment', 'change-of-address'],
      ...['request-fee-waiver', 'foia-request', 'avoid-scams'],
    ],
  },
]

/** Guides to offer where nothing else is known of what a person needs. */
const OFTEN_NEEDED = [
  ...['find-legal-help', 'work-permit', 'renew-green-card', 'replace-lost-green-card', 'check-case-status'],
  'apply-for-citizenship',
]

/** The published guides of each situation. Those of none come last, under `more`; a situation without guides is left out. */
export function guidesBySituation(guides: readonly GuideInList[]) {
  const grouped = SITUATIONS.map(({ slugs, ...situation }) => ({
    ...situation,
    guides: withSlugs(guides, slugs),
  }))
  const known = new Set(SITUATIONS.flatMap(({ slugs }) => slugs))
  const others = guides.filter(({ slug }) => !known.has(slug))
  const more = { id: 'more', title: 'More guides', about: 'Guides on other subjects.', guides: others }
  return [...grouped, more].filter((situation) => situation.guides.length > 0)
}

export const oftenNeeded = (guides: readonly GuideInList[]) => withSlugs(guides, OFTEN_NEEDED)

const withSlugs = (guides: readonly GuideInList[], slugs: readonly string[]) =>
  slugs.flatMap((slug) => guides.find((guide) => guide.slug === slug) ?? [])
