/** What each version brought, newest first; `/changelog` shows it. */
export const RELEASES: readonly { readonly version: string; readonly changes: readonly string[] }[] = [
  {
    version: '0.1.0',
    changes: [
      'The first version: plain-English guides to U.S. immigration, as pages, JSON and Markdown, with a search and a feed of changes.',
      'A waitlist, by a form and by the API, with a link to share. A mail lets people confirm, or leave.',
      'Agents register themselves, get tokens with client credentials, give them back, and end their registration.',
      'Documents that lead an agent from the home page to all of it: an API catalog, OpenAPI, auth.md, agent skills, llms.txt.',
    ],
  },
]
