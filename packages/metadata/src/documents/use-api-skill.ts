import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'
import type { Skill } from './skill.ts'

/** How to answer from the guides. */
export const useImmigrationGuidanceApi = ({ origin }: DocumentConfig): Skill => ({
  name: 'use-immigration-guidance-api',
  title: 'Use the Plainpath Immigration Guidance API',
  description:
    'Find and read plain-English guides to U.S. immigration with their official sources, and put a person on the ' +
    'product waitlist, through the Plainpath Immigration Guidance API. Use when a person asks about a U.S. ' +
    'immigration form, fee, step, deadline or appointment, or wants to join the waitlist.',
  version: '1.0.0',
  queries: ['how do I apply for a work permit', 'put me on the immigration guidance waitlist'],
  body: body(origin),
})

function body(origin: string): string {
  const urls = serviceUrls(origin)
  return `# Use the Plainpath Immigration Guidance API

## When to use

Use this when a person asks what a U.S. immigration form, rule, fee or appointment is about and what to do next. It gives information, not legal advice. When a case is hard, use the skill [hand off to an attorney](${urls.skill('hand-off-to-an-attorney')}) instead of guessing.

## Read the guides

No registration and no token are needed.

1. List the guides and choose by title and summary:

   \`\`\`http
   GET ${urls.base}/guides
   \`\`\`

   The answer is \`{"guides": [{"slug", "title", "summary", "updated", "reviewed", "url"}], "next": null}\`. While \`next\` is not null, ask again with \`?cursor=\` and its value.

2. Read one as Markdown, by its \`slug\`:

   \`\`\`http
   GET ${urls.base}/guides/{slug}
   Accept: text/markdown
   \`\`\`

   Without that header it comes as JSON, with \`sources\`, \`stale\`, \`disclaimer\` and \`talkToAnAttorneyWhen\`.

## Answer the person

1. Answer in plain words from the guide alone. If no guide covers the question, say so.
2. Name the official source behind each statement: \`[n]\` in the text is the n-th of \`sources\`.
3. If \`stale\` is true, or the question is about a fee, a form edition or an address, tell the person to check the official page first.
4. Compare the person's case with \`talkToAnAttorneyWhen\`. If one of them fits, hand off.
5. Give the \`disclaimer\` with your answer, and the \`url\` of the guide.

## Put a person on the waitlist

Only when the person asks for it, and only with an address that the person gave you for this.

\`\`\`http
POST ${urls.base}/waitlist
Content-Type: application/json

{"email": "ana@example.org"}
\`\`\`

201 is new and brings a referral link for the person. 200 says that the address is on the waitlist. 400 names each mistake in \`errors\`.

## Limits and tokens

Requests without a token share the limits of their network address. For limits of your own, register once, with a secret or with a key of your own, and send a token: ${urls.authMd} leads through it. On 429 wait for the seconds in \`Retry-After\`.

## When something fails

Errors are \`application/problem+json\`. Decide by \`code\`, read \`detail\`, and open \`type\`: it is a page that says what to do next.
`
}
