/** A page of each kind, by the name of its screenshot. */
export const SITE_PAGES = {
  home: '/',
  guides: '/guides',
  'get-help': '/get-help',
  'get-help-es': '/es/obtener-ayuda',
  ask: '/ask',
  waitlist: '/waitlist',
  connect: '/connect',
  contact: '/contact',
  guide: '/guides/renew-green-card',
  'guide-with-exit': '/guides/vawa-basics',
  search: '/search?q=work+permit',
  // No guide contains this word.
  'search-empty': '/search?q=taxid',
  privacy: '/privacy',
  terms: '/terms',
  changelog: '/changelog',
  docs: '/docs',
  problems: '/problems',
  problem: '/problems/invalid-request',
  'not-found': '/nowhere',
} as const

/** A question for each kind of answer that `/ask` gives. */
export const EXAMPLE_QUESTIONS = {
  information: 'When do I renew my green card?',
  'hand-off': 'ICE took my brother this morning. Where is he?',
  'out-of-scope': 'How do I get a work visa for Canada?',
} as const
