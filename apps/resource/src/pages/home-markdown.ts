import type { ServiceUrls } from '@plainpath/metadata'
import { type HomePage, OFFICIAL_LISTS } from '@plainpath/pages'

/** What `/` says, for whoever reads Markdown; every address is absolute. */
export function homeMarkdown({
  guides,
  commands,
  links,
  urls,
}: Pick<HomePage, 'guides' | 'commands' | 'links'> & { urls: ServiceUrls }): string {
  const absolute = (href: string) => new URL(href, urls.origin).href
  return `# Plain-English guides to U.S. immigration

Each guide says what a form or a rule is for, what to do next, and which official page says so.

> Plainpath is **not a law firm and not the government**. It gives information, not legal advice. When a case is hard, talk to an attorney.

## Guides

${guides.map(({ slug, title, summary }) => `- [${title}](${urls.guide(slug)}): ${summary}`).join('\n') || 'No guide is published yet.'}

## To talk to an attorney

${OFFICIAL_LISTS.map(({ title, url, about }) => `- [${title}](${url}): ${about}`).join('\n')}

## For agents

An agent signs itself up and reads the same guides through the API. Paste these lines into a shell, in this order.

${commands.map(({ does, line }) => `${does}\n\n\`\`\`sh\n${line}\n\`\`\``).join('\n\n')}

## To read on

${links.map(({ href, text }) => `- [${text}](${absolute(href)})`).join('\n')}

## For people

- [The waitlist](${urls.origin}/waitlist): a form for an e-mail address. Agents send \`{"email": "…"}\` to ${urls.base}/waitlist instead, after they asked the person.
`
}
