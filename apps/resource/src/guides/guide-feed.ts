import { defineRoute, prepareOnce, prepareResponse, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import type { GuideCatalog, GuideChange } from './guide-catalog.ts'
import type { GuideDeps } from './guide-routes.ts'

export const FEED_PATH = '/guides.atom'

/** Creates the route of the Atom feed (RFC 4287) of changes to guides. */
export function feedRoute({ guides, urls }: Pick<GuideDeps, 'guides' | 'urls'>): Route {
  const feed = prepareOnce<GuideCatalog>(({ changes }) =>
    prepareResponse('application/atom+xml; charset=utf-8', atomFeed(changes, urls)),
  )
  return defineRoute({
    method: 'get',
    path: FEED_PATH,
    operationId: 'guideFeed',
    summary: 'The newest changes of the guides, as Atom',
    access: 'open',
    limits: LIMITS.pages,
    cache: 'public',
    responses: { 200: z.string() },
    handle: () => ({ status: 200, prepared: feed(guides.current()) }),
  })
}

/** Formats the feed, with an entry for each published version. The `id` of an entry never changes. */
function atomFeed(changes: readonly GuideChange[], urls: ServiceUrls): string {
  const self = `${urls.origin}${FEED_PATH}`
  const updated = changes[0]?.at ?? new Date(0)
  return `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
<id>${escapeXml(self)}</id>
<title>Changes to the guides of Plainpath</title>
<link rel="self" type="application/atom+xml" href="${escapeXml(self)}"/>
<link rel="alternate" type="text/html" href="${escapeXml(urls.origin)}/"/>
<author><name>Plainpath</name></author>
<updated>${updated.toISOString()}</updated>
${changes.map((change) => entry(change, urls)).join('\n')}
</feed>
`
}

function entry({ slug, version, title, summary, history, at }: GuideChange, urls: ServiceUrls): string {
  const page = escapeXml(urls.guide(slug))
  const changed = [version === 1 ? 'New guide.' : `Version ${version}.`, ...history, summary].join(' ')
  return `<entry>
<id>${page}#version-${version}</id>
<title>${escapeXml(title)}</title>
<link rel="alternate" type="text/html" href="${page}"/>
<updated>${at.toISOString()}</updated>
<summary>${escapeXml(changed)}</summary>
</entry>`
}

const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
