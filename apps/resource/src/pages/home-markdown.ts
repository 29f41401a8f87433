import { ATTORNEY_LISTS } from '@plainpath/domain'
import { readTemplate, type ServiceUrls } from '@plainpath/metadata'
import type { HomePage } from '@plainpath/pages'

const fillIn = readTemplate(new URL('./home.template.md', import.meta.url), [
  'urls',
  'guides',
  'officialLists',
  'commands',
  'links',
])

/** The content of `/` as Markdown. Every link is absolute. */
export function homeMarkdown({
  guides,
  commands,
  links,
  urls,
}: Pick<HomePage, 'guides' | 'commands' | 'links'> & { urls: ServiceUrls }): string {
  const listed = guides.map(({ slug, title, summary }) => `- [${title}](${urls.guide(slug)}): ${summary}`)
  return fillIn({
    urls,
    guides: listed.join('\n') || 'No guide is published yet.',
    officialLists: ATTORNEY_LISTS.map(({ title, url, about }) => `- [${title}](${url}): ${about}`).join('\n'),
    commands: commands.map(({ does, line }) => `${does}\n\n\`\`\`sh\n${line}\n\`\`\``).join('\n\n'),
    links: links.map(({ href, text }) => `- [${text}](${new URL(href, urls.origin).href})`).join('\n'),
  })
}
