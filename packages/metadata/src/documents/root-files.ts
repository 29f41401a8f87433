import { readTemplate } from '../read-template.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { formatChatAddresses } from './mcp-md.ts'
import { PLAIN_TYPE, type ResourceDocumentConfig, type ServedDocument } from './served-document.ts'
import { SKILLS } from './skills.ts'

const fillLlms = readTemplate(new URL('./llms.template.txt', import.meta.url), [
  'urls',
  'chatAddresses',
  'guides',
  'skills',
])

/** Creates `/llms.txt`, the overview for language models, with links to the other documents and the guides. */
export function createLlmsTxt(
  urls: ServiceUrls,
  { listGuides }: Pick<ResourceDocumentConfig, 'listGuides'>,
): ServedDocument {
  const formatLink = (title: string, address: string, about: string) => `- [${title}](${address}): ${about}`
  const skills = SKILLS.map(({ name, title, description }) =>
    formatLink(title, urls.skill(name), description),
  )
  const content = () =>
    fillLlms({
      urls,
      chatAddresses: formatChatAddresses(urls),
      guides: listGuides()
        .map(({ slug, title, summary }) => formatLink(title, urls.guide(slug), summary))
        .join('\n'),
      skills: skills.join('\n'),
    })
  return { path: '/llms.txt', contentType: PLAIN_TYPE, content }
}

/** Crawlers that `robots.txt` names although `*` covers them, because some site-rating tools look only for names. */
const CRAWLERS = [
  'GPTBot',
  'ChatGPT-User',
  'OAI-SearchBot',
  'ClaudeBot',
  'Claude-User',
  'Claude-SearchBot',
  'Claude-Web',
  'anthropic-ai',
  'Google-Extended',
  'PerplexityBot',
  'CCBot',
  'Bytespider',
  'cohere-ai',
  'Diffbot',
  'Applebot-Extended',
  'Amazonbot',
  'meta-externalagent',
]

/** Creates `/robots.txt` (RFC 9309). Its Content Signals allow search and answers, but not training. */
export function createRobotsTxt(urls: ServiceUrls): ServedDocument {
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

/** The months from the month of the app's start to the one in which `security.txt` expires. */
const VALID_MONTHS = 11

/**
 * Creates `/.well-known/security.txt` (RFC 9116). It expires ten to eleven months after the app started, because §2.5.5 advises
 * less than a year. A process that runs for longer serves an expired file.
 */
export function createSecurityTxt(
  { origin }: ServiceUrls,
  { startedAt, securityContact }: Pick<ResourceDocumentConfig, 'startedAt' | 'securityContact'>,
): ServedDocument {
  const path = '/.well-known/security.txt'
  const expires = new Date(Date.UTC(startedAt.getUTCFullYear(), startedAt.getUTCMonth() + VALID_MONTHS))
  const lines = [
    `Contact: ${securityContact}`,
    `Expires: ${expires.toISOString()}`,
    'Preferred-Languages: en',
    `Canonical: ${origin}${path}`,
    '',
  ]
  return { path, contentType: PLAIN_TYPE, content: lines.join('\n') }
}

/** Creates `/sitemap.xml`, which lists the home page, the guides, and the other pages and documents worth finding. */
export function createSitemap(
  urls: ServiceUrls,
  { listGuides }: Pick<ResourceDocumentConfig, 'listGuides'>,
): ServedDocument {
  const formatEntry = (address: string, suffix = '') => `<url><loc>${address}</loc>${suffix}</url>`
  const {
    guides: guidesPage,
    getHelp,
    getHelpInSpanish,
    ask,
    connect,
    contact,
    privacy,
    terms,
    changelog,
  } = urls
  const { reference, problems, authMd, mcpMd, llms: overview } = urls
  const { authVerifiedEmail, authKeys, authDomain, authDpop, authErrors, authLifetimes } = urls
  const authDetails = [authVerifiedEmail, authKeys, authDomain, authDpop, authErrors, authLifetimes]
  const pages = [guidesPage, getHelp, getHelpInSpanish, ask, connect, contact, privacy, terms, changelog]
  const staticPages = [...pages, reference, problems, authMd, ...authDetails, mcpMd, overview]
  const content = () => `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${[
  formatEntry(`${urls.origin}/`),
  ...listGuides().map(({ slug, updated }) => formatEntry(urls.guide(slug), `<lastmod>${updated}</lastmod>`)),
  ...[...staticPages, ...SKILLS.map(({ name }) => urls.skill(name))].map((address) => formatEntry(address)),
].join('\n')}
</urlset>
`
  return { path: '/sitemap.xml', contentType: 'application/xml; charset=utf-8', content }
}
