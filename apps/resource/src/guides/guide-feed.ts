import { defineRoute, prepareOnce, prepareResponse, type Route } from '@plainpath/http'
import type { ServiceUrls } from '@plainpath/metadata'
import { z } from 'zod'
import { LIMITS } from '../limits.ts'
import type { GuideCatalog, GuideChange } from './guide-catalog.ts'
import type { GuideDeps } from './guide-routes.ts'

export const FEED_PATH = '/guides.atom'

/** Creates the route for the Atom feed (RFC 4287) of the newest changes to the guides. */
export function createFeedRoute({ guides, urls }: Pick<GuideDeps, 'guides' | 'urls'>): Route {
  const prepareFeed = prepareOnce<GuideCatalog>(({ changes }) =>
    prepareResponse('application/atom+xml; charset=utf-8', formatFeed(changes, urls)),
  )
  return defineRoute({
    method: 'get',
    path: FEED_PATH,
    operationId: 'guideFeed',
    summary: 'The newest changes to the guides, as Atom',
    access: 'open',
    limits: LIMITS.pages,
    cache: 'public',
    responses: { 200: z.string() },
    handle: () => ({ status: 200, prepared: prepareFeed(guides.current()) }),
  })
}

/**
 * Formats the feed, with one entry per published version. An entry's `id` never changes.
 *
 * @param changes the newest first
 */
function formatFeed(changes: readonly GuideChange[], urls: ServiceUrls): string {
  const feedUrl = `${urls.origin}${FEED_PATH}`
  // Atom requires `updated` (RFC 4287 §4.1.1), even in a feed without entries.
  const updatedAt = changes[0]?.publishedAt ?? new Date(0)
  return `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
<id>${escapeXml(feedUrl)}</id>
<title>Changes to the guides of Plainpath</title>
<link rel="self" type="application/atom+xml" href="${escapeXml(feedUrl)}"/>
<link rel="alternate" type="text/html" href="${escapeXml(urls.origin)}/"/>
<author><name>Plainpath</name></author>
<updated>${updatedAt.toISOString()}</updated>
${changes.map((change) => formatEntry(change, urls)).join('\n')}
</feed>
`
}

function formatEntry(
  { slug, version, title, summary, history, publishedAt }: GuideChange,
  urls: ServiceUrls,
): string {
  const escapedPageUrl = escapeXml(urls.guide(slug))
  const entrySummary = [version === 1 ? 'New guide.' : `Version ${version}.`, ...history, summary].join(' ')
  return `<entry>
<id>${escapedPageUrl}#version-${version}</id>
<title>${escapeXml(title)}</title>
<link rel="alternate" type="text/html" href="${escapedPageUrl}"/>
<updated>${publishedAt.toISOString()}</updated>
<summary>${escapeXml(entrySummary)}</summary>
</entry>`
}

const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
