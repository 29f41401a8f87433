/** A page of each kind, by the name of its picture. */
export const SITE_PAGES = {
  home: '/',
  ask: '/ask',
  waitlist: '/waitlist',
  contact: '/contact',
  guide: '/guides/renew-green-card',
  search: '/search?q=work+permit',
  privacy: '/privacy',
  terms: '/terms',
  changelog: '/changelog',
  docs: '/docs',
  problem: '/problems/invalid-request',
  'not-found': '/nowhere',
} as const

/** A question for each kind of answer of `/ask`. */
export const ASKED = {
  information: 'When do I renew my green card?',
  'hand-off': 'ICE took my brother this morning. Where is he?',
  'out-of-scope': 'How do I get a work visa for Canada?',
} as const
