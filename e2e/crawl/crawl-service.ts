import { findNamedLinks, type NamedLink, removeParameters } from './named-links.ts'

/** The response to a GET request for an address. */
export interface Visit {
  readonly href: string
  /** The media type that was announced together with the address. */
  readonly announcedType?: string
  readonly status: number
  readonly type: string
  readonly headers: Headers
  readonly text: string
  /** The address whose response named this one first. */
  readonly from: string
}

/** Stops the crawl if a mistake in the service creates ever more addresses. */
const MAX_VISITS = 1_000

interface QueuedLink {
  readonly link: NamedLink
  /** The address whose response named the link. */
  readonly from: string
}

/**
 * Visits `start` and, recursively, every address that a response names, once for each announced media type. Visits
 * addresses with `{slug}` last, when the slug of a guide is known, and skips addresses with `{id}`.
 */
export async function crawlService(start: string): Promise<Visit[]> {
  const queue: QueuedLink[] = [{ link: { href: start }, from: '' }]
  const templates: QueuedLink[] = []
  const visitedKeys = new Set<string>()
  const visits: Visit[] = []
  const takeNext = () => queue.shift() ?? fillTemplate(templates.shift(), visits)
  for (let next = takeNext(); next; next = takeNext()) {
    const { link, from } = next
    const key = `${link.href} ${removeParameters(link.type ?? null)}`
    if (visitedKeys.has(key)) continue
    visitedKeys.add(key)
    // Addresses with `{id}` are private resources.
    if (link.href.includes('{id}')) continue
    if (link.href.includes('{slug}')) {
      templates.push(next)
      continue
    }
    if (visits.length >= MAX_VISITS) throw new Error(`more than ${MAX_VISITS} addresses`)
    const currentVisit = await visit(link, from)
    visits.push(currentVisit)
    const links = findNamedLinks({ url: link.href, headers: currentVisit.headers, text: currentVisit.text })
    queue.push(...links.map((each) => ({ link: each, from: link.href })))
  }
  return visits
}

/** Finds the slug of a guide whose page was visited. Returns an empty text if there is none. */
export const findGuideSlug = (visits: readonly Visit[]): string =>
  visits.flatMap(({ href }) => /\/guides\/([a-z0-9-]+)$/.exec(href)?.[1] ?? [])[0] ?? ''

function fillTemplate(template: QueuedLink | undefined, visits: readonly Visit[]): QueuedLink | undefined {
  if (!template) return undefined
  const href = template.link.href.replace('{slug}', findGuideSlug(visits))
  return { ...template, link: { ...template.link, href } }
}

async function visit({ href, type }: NamedLink, from: string): Promise<Visit> {
  const response = await fetch(href, { headers: { accept: type ?? '*/*' }, redirect: 'manual' })
  return {
    href,
    from,
    ...(type !== undefined && { announcedType: type }),
    status: response.status,
    type: removeParameters(response.headers.get('content-type')),
    headers: response.headers,
    text: await response.text(),
  }
}
