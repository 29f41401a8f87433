import { essence, type NamedLink, namedLinks } from './named-links.ts'

/** The response of an address to GET. */
export interface Visit {
  readonly href: string
  /** The media type that was announced together with the address. */
  readonly announced?: string
  readonly status: number
  readonly type: string
  readonly headers: Headers
  readonly text: string
  /** The address whose response named it first. */
  readonly from: string
}

/** Bounds the crawl in case of a mistake in the service. */
const MOST_VISITS = 1_000

/**
 * Visits `start`, every address that its response names, and so on, each once for every announced type.
 * Addresses with `{slug}` come last, when the slugs of guides are known.
 */
export async function crawlService(start: string): Promise<Visit[]> {
  const queue: { link: NamedLink; from: string }[] = [{ link: { href: start }, from: '' }]
  const templates: typeof queue = []
  const seen = new Set<string>()
  const visits: Visit[] = []
  for (let next = queue.shift(); next; next = queue.shift() ?? filled(templates.shift(), visits)) {
    const { link, from } = next
    const key = `${link.href} ${essence(link.type ?? null)}`
    if (seen.has(key)) continue
    seen.add(key)
    // Private resources: documents name them with `{id}` or an example.
    if (link.href.includes('{id}')) continue
    if (link.href.includes('{slug}')) {
      templates.push(next)
      continue
    }
    if (visits.length >= MOST_VISITS) throw new Error(`more than ${MOST_VISITS} addresses`)
    const visited = await visit(link, from)
    visits.push(visited)
    const named = namedLinks({ url: link.href, headers: visited.headers, text: visited.text })
    queue.push(...named.map((each) => ({ link: each, from: link.href })))
  }
  return visits
}

/** Finds the slug of a guide whose page was visited. */
export const slugSeen = (visits: readonly Visit[]): string =>
  visits.flatMap(({ href }) => /\/guides\/([a-z0-9-]+)$/.exec(href)?.[1] ?? [])[0] ?? ''

function filled(
  template: { link: NamedLink; from: string } | undefined,
  visits: readonly Visit[],
): { link: NamedLink; from: string } | undefined {
  if (!template) return undefined
  const href = template.link.href.replace('{slug}', slugSeen(visits))
  return { ...template, link: { ...template.link, href } }
}

async function visit({ href, type }: NamedLink, from: string): Promise<Visit> {
  const response = await fetch(href, { headers: { accept: type ?? '*/*' }, redirect: 'manual' })
  return {
    href,
    from,
    ...(type !== undefined && { announced: type }),
    status: response.status,
    type: essence(response.headers.get('content-type')),
    headers: response.headers,
    text: await response.text(),
  }
}
