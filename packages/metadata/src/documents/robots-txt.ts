import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'
import { PLAIN_TYPE, type ServedDocument } from './served-document.ts'

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
export function robotsTxt({ origin }: DocumentConfig): ServedDocument {
  const urls = serviceUrls(origin)
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
