/** A page of each kind, by the name of its picture. */
export const SITE_PAGES = {
  home: '/',
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
