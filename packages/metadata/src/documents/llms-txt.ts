import { serviceUrls } from '../service-urls.ts'
import type { ListedGuide, ResourceDocumentConfig } from './document-config.ts'
import { PLAIN_TYPE, type ServedDocument } from './served-document.ts'
import { skillsOf } from './skills.ts'

/** `/llms.txt`: one page that leads a language model to everything else. */
export function llmsTxt(config: ResourceDocumentConfig, guides: readonly ListedGuide[]): ServedDocument {
  const urls = serviceUrls(config.origin)
  const content = `# Plainpath

> Plain-English guides to U.S. immigration, each backed by official sources, for people and their agents. Information, not legal advice; not a law firm and not the government.

## When to use

- A person asks what an immigration form, rule or appointment is for, where its fee is, or what comes next.
- You need the official page behind a statement: every guide lists its sources and the day each was checked.
- A case is too hard for a guide: each guide says when to talk to an attorney, and where the official lists are.

Do not use it to decide somebody's own case, or for immigration to other countries.

## Start here

- [The guides as JSON](${urls.base}/guides): no registration, no token
- [Registration and tokens](${urls.authMd}): how an agent signs itself up
- [API description](${urls.openapi}): OpenAPI 3.1
- [API reference](${urls.reference}): every operation with an example
- [MCP server](${urls.serverCard}): its card; the endpoint is ${urls.mcp}

Each guide below is also Markdown, at ${urls.base}/guides/{slug}.md or with \`Accept: text/markdown\`.

## Guides

${guides.map(({ slug, title, summary }) => `- [${title}](${urls.guide(slug)}): ${summary}`).join('\n')}

## Skills

${skillsOf(config)
  .map(({ name, title, description }) => `- [${title}](${urls.skill(name)}): ${description}`)
  .join('\n')}

## Optional

- [API catalog](${urls.apiCatalog}): RFC 9727
- [AI catalog](${urls.aiCatalog})
- [Authorization server](${urls.authorizationServer}): RFC 8414
- [Protected resource](${urls.protectedResource}): RFC 9728
- [Security contact](${config.origin}/.well-known/security.txt): RFC 9116
- [Sitemap](${urls.sitemap})
- [Changes](${urls.changelog})
- [Write to us](${urls.contact}): the form for people
- [Privacy](${urls.privacy})
- [Terms](${urls.terms})
`
  return { path: '/llms.txt', contentType: PLAIN_TYPE, content }
}
