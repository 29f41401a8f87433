import { serviceUrls } from '../service-urls.ts'
import type { ListedGuide, ResourceDocumentConfig } from './document-config.ts'
import type { ServedDocument } from './served-document.ts'
import { skillsOf } from './skills.ts'

/** `/sitemap.xml`: the pages, and the texts for agents. */
export function sitemap(config: ResourceDocumentConfig, guides: readonly ListedGuide[]): ServedDocument {
  const urls = serviceUrls(config.origin)
  const addresses = [
    { loc: `${config.origin}/` },
    ...guides.map(({ slug, updated }) => ({ loc: urls.guide(slug), lastmod: updated })),
    { loc: urls.reference },
    { loc: urls.contact },
    { loc: urls.privacy },
    { loc: urls.terms },
    { loc: urls.changelog },
    { loc: urls.authMd },
    { loc: urls.llms },
    ...skillsOf(config).map(({ name }) => ({ loc: urls.skill(name) })),
  ]
  const entries = addresses.map(
    (entry) =>
      `<url><loc>${entry.loc}</loc>${'lastmod' in entry ? `<lastmod>${entry.lastmod}</lastmod>` : ''}</url>`,
  )
  const content = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${entries.join('\n')}
</urlset>
`
  return { path: '/sitemap.xml', contentType: 'application/xml; charset=utf-8', content }
}
