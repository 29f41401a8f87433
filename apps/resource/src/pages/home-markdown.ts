import { ATTORNEY_LISTS } from '@plainpath/domain'
import { readTemplate, type ServiceUrls } from '@plainpath/metadata'
import type { HomePageContent } from '@plainpath/pages'

const fillTemplate = readTemplate(new URL('./home.template.md', import.meta.url), [
  'urls',
  'guides',
  'attorneyLists',
  'commands',
  'links',
])

/** Formats the home page as Markdown. Every link is absolute. */
export function formatHomeAsMarkdown({
  guides,
  commands,
  links,
  urls,
}: Pick<HomePageContent, 'guides' | 'commands' | 'links'> & { urls: ServiceUrls }): string {
  const guideLines = guides.map(({ slug, title, summary }) => `- [${title}](${urls.guide(slug)}): ${summary}`)
  return fillTemplate({
    urls,
    guides: guideLines.join('\n') || 'No guide is published yet.',
    attorneyLists: ATTORNEY_LISTS.map(({ title, url, about }) => `- [${title}](${url}): ${about}`).join('\n'),
    commands: commands
      .map(({ description, script }) => `${description}\n\n\`\`\`sh\n${script}\n\`\`\``)
      .join('\n\n'),
    links: links.map(({ href, text }) => `- [${text}](${new URL(href, urls.origin).href})`).join('\n'),
  })
}
