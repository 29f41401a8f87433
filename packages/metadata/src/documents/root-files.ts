import { readTemplate } from '../read-template.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { chatAddresses } from './mcp-md.ts'
import { PLAIN_TYPE, type ResourceDocumentConfig, type ServedDocument } from './served-document.ts'
import { SKILLS } from './skills.ts'

const llms = readTemplate(new URL('./llms.template.txt', import.meta.url), [
  'urls',
  'chatAddresses',
  'guides',
  'skills',
])

/** `/llms.txt`: the overview for language models, with links to all other documents. */
export function llmsTxt(
  urls: ServiceUrls,
  { guides }: Pick<ResourceDocumentConfig, 'guides'>,
): ServedDocument {
  const linkLine = (title: string, address: string, about: string) => `- [${title}](${address}): ${about}`
  const skills = SKILLS.map(({ name, title, description }) => linkLine(title, urls.skill(name), description))
  const content = () =>
    llms({
      urls,
      chatAddresses: chatAddresses(urls),
      guides: guides()
        .map(({ slug, title, summary }) => linkLine(title, urls.guide(slug), summary))
        .join('\n'),
      skills: skills.join('\n'),
    })
  return { path: '/llms.txt', contentType: PLAIN_TYPE, content }
}

/** Named although `*` covers them: some checkers count only what is named. */
const CRAWLERS = [
  ...[
    'GPTBot',
    'ChatGPT-User',
    'OAI-SearchBot',
    'ClaudeBot',
    'Claude-User',
    'Claude-SearchBot',
    'Claude-Web',
  ],
  ...['anthropic-ai', 'Google-Extended', 'PerplexityBot', 'CCBot', 'Bytespider', 'cohere-ai', 'Diffbot'],
  ...['Applebot-Extended', 'Amazonbot', 'meta-externalagent'],
]

/** `/robots.txt` (RFC 9309), with Content Signals: searching and answering yes, training no. */
export function robotsTxt(urls: ServiceUrls): ServedDocument {
  const lines = [
    ...['*', ...CRAWLERS].map((name) => `User-agent: ${name}`),
    'Content-Signal: search=yes, ai-input=yes, ai-train=no',
    'Allow: /',
    'Disallow: /oauth/',
    '',
    `Sitemap: ${urls.sitemap}`,
    `Agentmap: ${urls.aiCatalog}`,
    '',
  ]
  return { path: '/robots.txt', contentType: PLAIN_TYPE, content: lines.join('\n') }
}

const VALID_MONTHS = 11

/**
 * `/.well-known/security.txt` (RFC 9116). It ends less than a year after the month of the start, as §2.5.5 advises:
 * a process that runs for longer than ten months serves one that has expired.
 */
export function securityTxt(
  { origin }: ServiceUrls,
  { builtAt, securityContact }: Pick<ResourceDocumentConfig, 'builtAt' | 'securityContact'>,
): ServedDocument {
  const path = '/.well-known/security.txt'
  const expires = new Date(Date.UTC(builtAt.getUTCFullYear(), builtAt.getUTCMonth() + VALID_MONTHS))
  const lines = [
    `Contact: ${securityContact}`,
    `Expires: ${expires.toISOString()}`,
    'Preferred-Languages: en',
    `Canonical: ${origin}${path}`,
    '',
  ]
  return { path, contentType: PLAIN_TYPE, content: lines.join('\n') }
}

/** `/sitemap.xml`: the pages, and the texts for agents. */
export function sitemap(
  urls: ServiceUrls,
  { guides }: Pick<ResourceDocumentConfig, 'guides'>,
): ServedDocument {
  const entry = (address: string, rest = '') => `<url><loc>${address}</loc>${rest}</url>`
  const { guides: listed, getHelp, getHelpInSpanish, ask, connect, contact, privacy, terms, changelog } = urls
  const { reference, problems, authMd, mcpMd, llms: overview } = urls
  const { authVerifiedEmail, authKeys, authDomain, authDpop, authErrors, authLifetimes } = urls
  const details = [authVerifiedEmail, authKeys, authDomain, authDpop, authErrors, authLifetimes]
  const pages = [listed, getHelp, getHelpInSpanish, ask, connect, contact, privacy, terms, changelog]
  const others = [...pages, reference, problems, authMd, ...details, mcpMd, overview]
  const content = () => `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${[
  entry(`${urls.origin}/`),
  ...guides().map(({ slug, updated }) => entry(urls.guide(slug), `<lastmod>${updated}</lastmod>`)),
  ...[...others, ...SKILLS.map(({ name }) => urls.skill(name))].map((address) => entry(address)),
].join('\n')}
</urlset>
`
  return { path: '/sitemap.xml', contentType: 'application/xml; charset=utf-8', content }
}
